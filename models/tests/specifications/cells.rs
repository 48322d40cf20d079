//! A few cells that are read one by one or all together, written, and copied into each other.
//!
//! Each is a part of the state, so some operations meet, some do not, and copies connect.

use stagefault_models::checker::{Called, Footprint, Specification, Step};

/// How many cells there are.
pub const CELLS: usize = 3;

/// What is asked of the cells, each named by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Read(usize),
    ReadAll,
    Write(usize, u8),
    Copy { from: usize, to: usize },
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Value(u8),
    All([u8; CELLS]),
    Written,
}

pub type Call = Called<Ask, Answer>;

/// The cells; they begin as zeros.
#[derive(Clone)]
pub struct Cells;

/// What the cells answer, and what they hold then.
pub fn apply(mut cells: [u8; CELLS], ask: Ask) -> (Answer, [u8; CELLS]) {
    let answer = match ask {
        Ask::Read(cell) => Answer::Value(cells[cell]),
        Ask::ReadAll => Answer::All(cells),
        Ask::Write(cell, value) => {
            cells[cell] = value;
            Answer::Written
        }
        Ask::Copy { from, to } => {
            cells[to] = cells[from];
            Answer::Written
        }
    };
    (answer, cells)
}

impl Specification for Cells {
    type Key = ();
    type Operation = Ask;
    type Answer = Answer;
    type State = [u8; CELLS];

    fn key(&self, _: &Ask) {}

    fn initial(&mut self, (): &()) -> [u8; CELLS] {
        [0; CELLS]
    }

    fn step(&mut self, state: &[u8; CELLS], ask: &Ask, seen: Option<&Answer>) -> Step<[u8; CELLS]> {
        match apply(*state, *ask) {
            (answer, _) if seen.is_some_and(|seen| *seen != answer) => Step::Refuted,
            (_, next) if next == *state => Step::Same,
            (_, next) => Step::Moved(next),
        }
    }

    fn answer(&mut self, state: &[u8; CELLS], ask: &Ask) -> Answer {
        apply(*state, *ask).0
    }

    fn is_pure(&self, ask: &Ask, _: &Answer) -> bool {
        !self.may_change(ask)
    }

    fn may_change(&self, ask: &Ask) -> bool {
        matches!(ask, Ask::Write(..) | Ask::Copy { .. })
    }

    fn footprint(&self, ask: &Ask, _: Option<&Answer>) -> Footprint {
        let (reads, writes) = match *ask {
            Ask::Read(cell) => (1 << cell, 0),
            Ask::ReadAll => (u64::MAX, 0),
            Ask::Write(cell, _) => (0, 1 << cell),
            Ask::Copy { from, to } => (1 << from, 1 << to),
        };
        Footprint { reads, writes }
    }

    fn needs(&mut self, state: &[u8; CELLS], ask: &Ask, seen: &Answer) -> u64 {
        let differs = |(cell, seen): (usize, u8)| u64::from(state[cell] != seen) << cell;
        match (*ask, *seen) {
            (Ask::Read(cell), Answer::Value(value)) => differs((cell, value)),
            (Ask::ReadAll, Answer::All(cells)) => {
                cells.into_iter().enumerate().map(differs).fold(0, |needs, cell| needs | cell)
            }
            _ => 0,
        }
    }
}

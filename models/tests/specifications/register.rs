//! One register that is read, written, and set if it holds what is expected.

use stagefault_models::checker::{Called, Specification, Step};

/// What is asked of the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Read,
    Write(i64),
    CompareAndSet(i64, i64),
}

/// What is answered: the value read, or whether it was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Value(Option<i64>),
    Set(bool),
}

pub type Call = Called<Ask, Answer>;

/// The register; it begins empty.
#[derive(Clone)]
pub struct Register;

/// What the register answers, and what it holds then.
pub fn apply(value: Option<i64>, ask: Ask) -> (Answer, Option<i64>) {
    match ask {
        Ask::Read => (Answer::Value(value), value),
        Ask::Write(new) => (Answer::Set(true), Some(new)),
        Ask::CompareAndSet(from, to) if value == Some(from) => (Answer::Set(true), Some(to)),
        Ask::CompareAndSet(..) => (Answer::Set(false), value),
    }
}

impl Specification for Register {
    type Key = ();
    type Operation = Ask;
    type Answer = Answer;
    type State = Option<i64>;

    fn key(&self, _: &Ask) {}

    fn initial(&mut self, (): &()) -> Option<i64> {
        None
    }

    fn step(&mut self, state: &Option<i64>, ask: &Ask, seen: Option<&Answer>) -> Step<Option<i64>> {
        let (answer, next) = apply(*state, *ask);
        match seen {
            Some(seen) if *seen != answer => Step::Refuted,
            _ if next == *state => Step::Same,
            _ => Step::Moved(next),
        }
    }

    fn answer(&mut self, state: &Option<i64>, ask: &Ask) -> Answer {
        apply(*state, *ask).0
    }

    fn is_pure(&self, _: &Ask, seen: &Answer) -> bool {
        matches!(seen, Answer::Value(_) | Answer::Set(false))
    }

    fn may_change(&self, ask: &Ask) -> bool {
        *ask != Ask::Read
    }
}

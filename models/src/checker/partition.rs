//! The partitions of a history, each on its own, and all of them by turns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;

use super::course::Course;
use super::pool::Pool;
use super::search::{Found, Ground, Order, Search};
use super::{Called, Reached, Specification, Spent, Undecided, Verdict, Violation};

/// The steps of a partition's first turn: enough for a plain history of some thousand
/// operations, so that its memory is given back before the next one begins.
const FIRST_TURN: u64 = 1 << 14;

/// The steps of a search before the other one is tried: far less, for which of the two decides
/// at once is not known.
const FIRST_SLICE: u64 = 1 << 10;

/// The most steps between two questions to the budget.
const STRIDE: u64 = 1 << 12;

type Ended<S> = Verdict<<S as Specification>::Key, <S as Specification>::Answer>;

/// One partition of a history, and its search. It can be moved to a thread.
pub struct Partition<S: Specification> {
    key: S::Key,
    /// Each call's place in the caller's list.
    places: Vec<usize>,
    ground: Ground<S>,
    /// One for each order; without unknown operations they would be the same.
    searches: Vec<Search>,
    /// Which search goes on, until how many steps are taken, and how long the turns are.
    turn: usize,
    until: u64,
    slice: u64,
}

/// Splits a history into its partitions.
pub fn partitions<S: Specification>(
    specification: &S,
    history: impl IntoIterator<Item = Called<S::Operation, S::Answer>>,
) -> Vec<Partition<S>> {
    let mut parts: BTreeMap<S::Key, (Vec<usize>, Vec<_>)> = BTreeMap::new();
    for (place, called) in history.into_iter().enumerate() {
        let (places, calls) = parts.entry(specification.key(&called.operation)).or_default();
        places.push(place);
        calls.push(called);
    }
    let parts = parts.into_iter();
    parts.map(|(key, (places, calls))| Partition::new(specification, key, places, calls)).collect()
}

/// Decides partitions by turns, each twice as long as the last, until one is a violation, all
/// are linearizable, or the budget breaks.
pub fn decide<S: Specification>(
    partitions: Vec<Partition<S>>,
    mut budget: impl FnMut(&Spent) -> ControlFlow<String>,
) -> Ended<S> {
    let bytes = partitions.iter().map(Partition::bytes).sum();
    let mut spent = Spent { partitions: partitions.len(), bytes, ..Spent::default() };
    let (mut open, mut turn) = (VecDeque::from(partitions), FIRST_TURN);
    let mut all_happened = BTreeSet::new();
    while !open.is_empty() {
        for _ in 0..open.len() {
            let Some(mut partition) = open.pop_front() else { break };
            match partition.take_turn(turn, &mut spent, &mut budget) {
                ControlFlow::Continue(None) => open.push_back(partition),
                ControlFlow::Continue(Some(Verdict::Linearizable { happened })) => {
                    all_happened.extend(happened);
                    spent.decided += 1;
                    spent.bytes -= partition.bytes();
                    let _ = budget(&spent);
                }
                ControlFlow::Continue(Some(verdict)) => {
                    let _ = budget(&spent);
                    return verdict;
                }
                ControlFlow::Break(why) => {
                    open.push_front(partition);
                    let open = open.iter().map(Partition::reached).collect();
                    return Verdict::Undecided(Undecided { why, spent, open });
                }
            }
        }
        turn = turn.saturating_mul(2);
    }
    Verdict::Linearizable { happened: all_happened }
}

impl<S: Specification> Partition<S> {
    fn new(
        specification: &S,
        key: S::Key,
        places: Vec<usize>,
        calls: Vec<Called<S::Operation, S::Answer>>,
    ) -> Self {
        let course = Course::of(specification, &calls);
        let mut specification = specification.clone();
        let mut states = Pool::default();
        let initial = states.number(specification.initial(&key));
        let ground = Ground { specification, calls, course, states, initial, steps: 0 };
        let searches = Vec::new();
        Partition { key, places, ground, searches, turn: 0, until: FIRST_SLICE, slice: FIRST_SLICE }
    }

    /// The other order of search gets its turn after so many steps, and not only where a long
    /// history needs it: for tests, in which small histories are to be searched in both.
    #[doc(hidden)]
    pub fn with_first_slice(self, steps: u64) -> Self {
        Partition { until: steps, slice: steps, ..self }
    }

    /// The partition's key.
    pub fn key(&self) -> &S::Key {
        &self.key
    }

    /// How many operations it has.
    pub fn operations(&self) -> usize {
        self.places.len()
    }

    /// Searches on for about so many steps; a verdict ends it, and is never
    /// [`Verdict::Undecided`].
    pub fn advance(&mut self, steps: u64) -> Option<Ended<S>> {
        if self.searches.is_empty() {
            let course = &self.ground.course;
            self.searches.push(Search::new(Order::KnownFirst, course));
            if !course.unknown.is_empty() {
                self.searches.push(Search::new(Order::ByCall, course));
            }
        }
        let end = self.ground.steps.saturating_add(steps);
        while self.ground.steps < end {
            let steps = self.until.min(end).saturating_sub(self.ground.steps);
            match self.searches[self.turn].advance(&mut self.ground, steps) {
                Some(Found::Order) => {
                    return Some(Verdict::Linearizable { happened: self.happened() });
                }
                Some(Found::Nothing) => return Some(Verdict::Violation(self.violation())),
                None if self.ground.steps >= self.until => self.other_search(),
                None => {}
            }
        }
        None
    }

    /// Lets the other search go on, for twice as long each time it was the turn of both.
    fn other_search(&mut self) {
        self.turn = (self.turn + 1) % self.searches.len();
        if self.turn == 0 {
            self.slice = self.slice.saturating_mul(2);
        }
        self.until = self.ground.steps.saturating_add(self.slice);
    }

    /// How far it came.
    pub fn reached(&self) -> Reached<S::Key> {
        let returns = self.searches.iter().map(Search::reached).max().unwrap_or(0);
        Reached { key: self.key.clone(), returns, of: self.ground.course.known.len() }
    }

    /// The steps that were taken, and the memory that is kept, in bytes, about.
    pub fn spent(&self) -> (u64, usize) {
        (self.ground.steps, self.bytes())
    }

    fn bytes(&self) -> usize {
        let Ground { specification, states, course, .. } = &self.ground;
        let searches: usize = self.searches.iter().map(Search::bytes).sum();
        searches + states.bytes() + specification.bytes() + course.bytes()
    }

    /// Advances by so many steps and asks the budget on the way.
    fn take_turn(
        &mut self,
        steps: u64,
        spent: &mut Spent,
        mut budget: impl FnMut(&Spent) -> ControlFlow<String>,
    ) -> ControlFlow<String, Option<Ended<S>>> {
        let end = self.ground.steps.saturating_add(steps);
        while self.ground.steps < end {
            budget(spent)?;
            let (before, bytes) = (self.ground.steps, self.bytes());
            let verdict = self.advance(STRIDE.min(end - before));
            spent.steps += self.ground.steps - before;
            spent.bytes = spent.bytes + self.bytes() - bytes;
            if verdict.is_some() {
                return ControlFlow::Continue(verdict);
            }
        }
        ControlFlow::Continue(None)
    }

    /// The operations in doubt that the order found takes to have happened.
    fn happened(&self) -> BTreeSet<usize> {
        let calls = self.searches[self.turn].happened(&self.ground.course);
        calls.map(|call| self.places[call as usize]).collect()
    }

    fn violation(&mut self) -> Violation<S::Key, S::Answer> {
        let Ground { specification, calls, course, states, .. } = &mut self.ground;
        let (order, state, rank) = self.searches[self.turn].longest(course);
        let prefix = order.map(|call| self.places[call as usize]).collect();
        let stuck = course.known[course.by_return[rank as usize] as usize].call as usize;
        let expected = specification.answer(states.get(state), &calls[stuck].operation);
        Violation { key: self.key.clone(), prefix, stuck: self.places[stuck], expected }
    }
}

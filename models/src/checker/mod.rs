//! Whether a concurrent history is linearizable, against any [`Specification`].
//!
//! A history is linearizable when every operation can be thought to happen at one moment
//! between its call and its return, so that the answers are those that the specification
//! gives one after the other. An operation in doubt may happen at any moment after its
//! call, or never. What certainly had no effect is not given to the checker at all.
//!
//! [`check`] does all; [`partitions`] and [`decide`] are its halves, for a caller who runs
//! the partitions on threads. There is neither a clock nor a thread here: the caller's
//! budget says when to stop. [`check_history`] holds a recorded [`History`](crate::History)
//! against the contract. The search itself is in `search`, which explains it.

mod course;
mod footprint;
mod partition;
mod pool;
mod search;
mod seen;
pub mod sessions;

use std::collections::BTreeSet;
use std::hash::Hash;
use std::ops::ControlFlow;

pub use footprint::Footprint;
pub use partition::{Partition, decide, partitions};
pub use sessions::check_history;

/// What operations answer and do, one partition at a time.
///
/// Each partition has a clone of its own, which may keep what makes its work quick.
pub trait Specification: Clone {
    /// What tells partitions apart: operations of different keys never meet.
    type Key: Clone + Ord;
    /// What is asked.
    type Operation;
    /// What was seen.
    type Answer;
    /// What an operation acts on. Small, or cheap to compare, hash and keep many of.
    type State: Eq + Hash;

    /// The partition of the operation.
    fn key(&self, operation: &Self::Operation) -> Self::Key;

    /// The state in which a partition begins.
    fn initial(&mut self, key: &Self::Key) -> Self::State;

    /// Takes the operation in this state. Without an answer it is in doubt: any answer fits.
    fn step(
        &mut self,
        state: &Self::State,
        operation: &Self::Operation,
        seen: Option<&Self::Answer>,
    ) -> Step<Self::State>;

    /// What the operation would be answered in this state.
    fn answer(&mut self, state: &Self::State, operation: &Self::Operation) -> Self::Answer;

    /// Whether the operation, so answered, leaves every state in which that is its answer
    /// as it is. Such operations are placed as soon as they fit.
    fn is_pure(&self, operation: &Self::Operation, seen: &Self::Answer) -> bool;

    /// Whether the operation, in doubt, could change any state; else it is never placed.
    fn may_change(&self, operation: &Self::Operation) -> bool;

    /// The parts of the state that the operation, so answered or in doubt, has to do with. What
    /// the parts are is for the specification to say. Of operations whose footprints do not
    /// [meet](Footprint::meets) the search tries one order alone. By default all do.
    ///
    /// The law: whether the operation fits, and what it makes of the parts that it writes,
    /// depends on nothing but the parts that it reads; all other parts it leaves as they are.
    fn footprint(&self, operation: &Self::Operation, seen: Option<&Self::Answer>) -> Footprint {
        let _ = (operation, seen);
        Footprint::ALL
    }

    /// The parts that must be written, each of them, before the operation can be so answered.
    /// Where nothing can write one in time, the search turns back. By default there are none.
    ///
    /// The law: on every way from this state to one in which the operation is so answered, each
    /// of the parts is written by some operation, as its footprint says. So where the
    /// operation fits already, there are none.
    fn needs(
        &mut self,
        state: &Self::State,
        operation: &Self::Operation,
        seen: &Self::Answer,
    ) -> u64 {
        let _ = (state, operation, seen);
        0
    }

    /// The memory that the specification keeps for its states, in bytes.
    fn bytes(&self) -> usize {
        0
    }
}

/// What becomes of an operation in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<State> {
    /// It would be answered otherwise.
    Refuted,
    /// It fits and changes nothing.
    Same,
    /// It fits and leads to this state, which may be the same.
    Moved(State),
}

/// One operation of a history.
#[derive(Clone, Debug)]
pub struct Called<Operation, Answer> {
    /// What was asked.
    pub operation: Operation,
    /// When: a position on the history's clock.
    pub called: u64,
    /// When it returned, and what was seen; absent: in doubt.
    pub returned: Option<(u64, Answer)>,
}

/// What was used up so far; a budget judges by it, and by any clock of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Steps that were taken of the specification.
    pub steps: u64,
    /// The memory that the searches keep, in bytes, about.
    pub bytes: usize,
    /// Partitions that were found linearizable.
    pub decided: usize,
    /// Partitions.
    pub partitions: usize,
}

/// What a check ends in.
#[derive(Clone, Debug)]
pub enum Verdict<Key, Answer> {
    /// There is an order that explains every answer.
    Linearizable {
        /// The operations in doubt that the order found takes to have happened, by their place
        /// in the list that was checked. Another order may take others, or fewer.
        happened: BTreeSet<usize>,
    },
    /// There is none.
    Violation(Violation<Key, Answer>),
    /// The budget ended the search.
    Undecided(Undecided<Key>),
}

/// Why a history is not linearizable. Operations are named by their place in the list
/// that was checked.
#[derive(Clone, Debug)]
pub struct Violation<Key, Answer> {
    /// The partition that has no order.
    pub key: Key,
    /// The longest that any order gets, by returns: these operations, in this order.
    pub prefix: Vec<usize>,
    /// The operation whose return no order gets past.
    pub stuck: usize,
    /// What it would have been answered after `prefix`.
    pub expected: Answer,
}

/// How far a search came that did not end.
#[derive(Clone, Debug)]
pub struct Undecided<Key> {
    /// Why it stopped, in the words of the budget.
    pub why: String,
    /// What was used up.
    pub spent: Spent,
    /// The partitions without a verdict.
    pub open: Vec<Reached<Key>>,
}

/// How far a partition came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached<Key> {
    /// The partition.
    pub key: Key,
    /// Of how many returns an order was found.
    pub returns: usize,
    /// Of how many.
    pub of: usize,
}

/// Decides whether the history is linearizable.
///
/// `budget` is asked now and then, and stops the search by breaking with the reason. It is
/// also told of every partition that is decided, when breaking does nothing. The partitions advance by turns, each twice as long as the last; the first violation ends all.
pub fn check<S: Specification>(
    specification: &S,
    history: impl IntoIterator<Item = Called<S::Operation, S::Answer>>,
    budget: impl FnMut(&Spent) -> ControlFlow<String>,
) -> Verdict<S::Key, S::Answer> {
    decide(partitions(specification, history), budget)
}

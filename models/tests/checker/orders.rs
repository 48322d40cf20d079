//! Both orders of the search, on histories of which either would decide most alone, and how
//! far they get.

use std::fmt::Debug;
use std::ops::ControlFlow;

use stagefault_models::checker::{
    Called, Specification, Spent, Verdict, Violation, check, decide, partitions,
};

/// The verdict on a history, and the one where the orders take turns from the first step on,
/// so that the second is often the one that decides.
pub fn verdicts<S: Specification>(
    specification: &S,
    calls: Vec<Called<S::Operation, S::Answer>>,
) -> [Verdict<S::Key, S::Answer>; 2]
where
    Called<S::Operation, S::Answer>: Clone,
{
    let patience = |_: &Spent| ControlFlow::Continue(());
    let by_turns = partitions(specification, calls.clone()).into_iter();
    let by_turns = by_turns.map(|partition| partition.with_first_slice(1)).collect();
    [check(specification, calls, patience), decide(by_turns, patience)]
}

/// The violation gets as far as the plain search, which stops at this operation and supposes so
/// many of those in doubt.
pub fn gets_as_far<K, O: Debug, A: Debug>(
    violation: &Violation<K, A>,
    calls: &[Called<O, A>],
    at: usize,
    supposed: usize,
) {
    assert_eq!(violation.stuck, at, "{calls:?}");
    let doubts = violation.prefix.iter().filter(|place| calls[**place].returned.is_none());
    assert_eq!(doubts.count(), supposed, "{calls:?}");
}

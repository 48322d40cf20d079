//! Past its budget the checker says so, and why, and how far it came.

use std::ops::ControlFlow;

use stagefault_models::checker::{Spent, Undecided, Verdict, check};

use crate::specifications::register::{Answer, Ask, Call, Register};

/// Writes that all overlap, and a read of what none of them wrote: every order must be tried.
fn hopeless(writes: i64) -> Vec<Call> {
    let end = 2 * writes as u64;
    let write = |number: i64| Call {
        operation: Ask::Write(number),
        called: number as u64,
        returned: Some((end + number as u64, Answer::Set(true))),
    };
    let mut calls: Vec<Call> = (0..writes).map(write).collect();
    let read = Some((end - 1, Answer::Value(Some(-1))));
    calls.push(Call { operation: Ask::Read, called: end - 2, returned: read });
    calls
}

fn undecided(budget: impl FnMut(&Spent) -> ControlFlow<String>) -> Undecided<()> {
    match check(&Register, hopeless(40), budget) {
        Verdict::Undecided(undecided) => undecided,
        other => panic!("{other:?}"),
    }
}

fn at_most(holds: bool, why: &str) -> ControlFlow<String> {
    if holds { ControlFlow::Continue(()) } else { ControlFlow::Break(why.to_owned()) }
}

#[test]
fn past_its_steps_it_is_undecided() {
    let undecided = undecided(|spent| at_most(spent.steps < 100_000, "steps"));
    assert_eq!(undecided.why, "steps");
    assert!((100_000..200_000).contains(&undecided.spent.steps), "{:?}", undecided.spent);
    assert_eq!((undecided.spent.partitions, undecided.spent.decided), (1, 0));
    assert_eq!((undecided.open[0].returns, undecided.open[0].of), (0, 41));
}

#[test]
fn the_budget_is_told_of_all_that_was_spent() {
    let mut last = Spent::default();
    let verdict = check(&Register, hopeless(4), |spent| {
        last = *spent;
        ControlFlow::Continue(())
    });
    assert!(matches!(verdict, Verdict::Violation(_)), "{verdict:?}");
    assert!(last.steps > 24, "{last:?}");
}

#[test]
fn past_its_memory_it_is_undecided() {
    let cap = 8 << 20;
    let undecided = undecided(|spent| at_most(spent.bytes < cap, "memory"));
    assert_eq!(undecided.why, "memory");
    assert!((cap..3 * cap).contains(&undecided.spent.bytes), "{:?}", undecided.spent);
}

#[test]
fn a_budget_that_is_used_up_from_the_start_takes_no_step() {
    let undecided = undecided(|_| ControlFlow::Break("at once".to_owned()));
    assert_eq!(undecided.spent.steps, 0);
    assert_eq!((undecided.open[0].returns, undecided.open[0].of), (0, 41));
}

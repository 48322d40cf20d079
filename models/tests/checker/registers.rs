//! A register: agreement with the plain search, and true explanations.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use stagefault_models::checker::{Verdict, Violation, check};

use crate::orders::{gets_as_far, verdicts};
use crate::plain::{Interval, Outcome, Plain};
use crate::random::{Random, histories, simulate};
use crate::specifications::register::{Answer, Ask, Call, Register, apply};

/// A run of a register, in which now and then an answer is not the one that was given.
fn run(random: &mut Random) -> Vec<Call> {
    let mut register = None;
    let (writers, operations) = (2 + random.below(3) as u32, 3 + random.below(6) as usize);
    let ask = |random: &mut Random| match random.below(3) {
        0 => Ask::Read,
        1 => Ask::Write(random.below(3) as i64),
        _ => Ask::CompareAndSet(random.below(3) as i64, random.below(3) as i64),
    };
    let happen = |_: &mut Random, ask: &Ask| {
        let (answer, next) = apply(register, *ask);
        register = next;
        answer
    };
    let run = simulate(random, writers, operations, ask, happen);
    let calls = run.into_iter().filter_map(|simulated| simulated.witnessed());
    let call = |(operation, called, returned)| Call { operation, called, returned };
    let mut calls: Vec<Call> = calls.map(call).collect();
    if random.one_in(2) && !calls.is_empty() {
        let place = random.below(calls.len() as u64) as usize;
        match &mut calls[place].returned {
            Some((_, Answer::Value(value))) => *value = Some(random.below(3) as i64),
            Some((_, Answer::Set(set))) => *set = !*set,
            _ => {}
        }
    }
    calls
}

/// The run without the operations in doubt that did not happen.
fn without(calls: &[Call], happened: &BTreeSet<usize>) -> Vec<Call> {
    assert!(happened.iter().all(|place| calls[*place].returned.is_none()));
    let calls = calls.iter().enumerate();
    let kept = calls.filter(|(place, call)| call.returned.is_some() || happened.contains(place));
    kept.map(|(_, call)| call.clone()).collect()
}

fn plainly(calls: &[Call]) -> Outcome {
    let intervals: Vec<Interval<Answer>> =
        calls.iter().map(|call| (call.called, call.returned)).collect();
    let apply = |state: &Option<i64>, place: usize| apply(*state, calls[place].operation);
    Plain { calls: &intervals, apply: &apply }.search(&None)
}

/// The prefix is an order that explains its answers, and what is expected then was not seen.
fn is_true(calls: &[Call], violation: &Violation<(), Answer>) {
    let mut register = None;
    for (index, place) in violation.prefix.iter().enumerate() {
        let call = &calls[*place];
        let (answer, next) = apply(register, call.operation);
        assert!(call.returned.is_none_or(|(_, seen)| seen == answer));
        let later = &violation.prefix[index..];
        let back = |place: &usize| calls[*place].returned.is_some_and(|(at, _)| at < call.called);
        assert!(!later.iter().any(back), "what had returned comes later");
        register = next;
    }
    let stuck = &calls[violation.stuck];
    assert_eq!(apply(register, stuck.operation).0, violation.expected);
    assert!(stuck.returned.is_some_and(|(_, seen)| seen != violation.expected));
}

#[test]
fn the_verdict_is_that_of_the_plain_search_and_its_explanation_is_true() {
    let (mut random, mut violations, mut in_doubt) = (Random(1), 0, 0);
    let histories = histories();
    for _ in 0..histories {
        let calls = run(&mut random);
        let outcome = plainly(&calls);
        for verdict in verdicts(&Register, calls.clone()) {
            match (verdict, &outcome) {
                (Verdict::Linearizable { happened }, Outcome::Linearizable) => {
                    assert_eq!(plainly(&without(&calls, &happened)), Outcome::Linearizable);
                    in_doubt += happened.len();
                }
                (Verdict::Violation(violation), Outcome::Stuck { at, supposed }) => {
                    gets_as_far(&violation, &calls, *at, *supposed);
                    is_true(&calls, &violation);
                    violations += 1;
                }
                (verdict, outcome) => panic!("{verdict:?}, plainly {outcome:?}: {calls:?}"),
            }
        }
    }
    let share = violations * 50 / histories;
    assert!((10..=60).contains(&share), "{share} percent are violations");
    assert!(in_doubt > 0, "nothing in doubt is ever taken to have happened");
}

#[test]
fn what_was_tried_and_used_up_in_vain_may_still_happen_later() {
    let call = |operation, called, returned| Call { operation, called, returned };
    let read =
        |called, value| call(Ask::Read, called, Some((called + 1, Answer::Value(Some(value)))));
    // Only one order is right: 1 is written, read, then 2 is written, and read. The search may
    // come to the register holding 1 with both writes used up before it comes to it with one.
    let calls =
        vec![call(Ask::Write(2), 0, None), call(Ask::Write(1), 1, None), read(2, 1), read(4, 2)];
    let verdict = check(&Register, calls, |_| ControlFlow::Continue(()));
    assert!(matches!(verdict, Verdict::Linearizable { .. }), "{verdict:?}");
}

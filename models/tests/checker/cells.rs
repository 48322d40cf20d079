//! Cells, of which only some operations meet: agreement with the plain search, whatever need
//! not be tried, and true explanations.

use std::ops::ControlFlow;

use stagefault_models::checker::{Verdict, Violation, check};

use crate::orders::{gets_as_far, verdicts};
use crate::plain::{Interval, Outcome, Plain};
use crate::random::{Random, histories, simulate};
use crate::specifications::cells::{Answer, Ask, CELLS, Call, Cells, apply};

pub fn ask(random: &mut Random) -> Ask {
    let [cell, other] = [(); 2].map(|()| random.below(CELLS as u64) as usize);
    match random.below(10) {
        0..=2 => Ask::Read(cell),
        3..=4 => Ask::ReadAll,
        5..=7 => Ask::Write(cell, random.below(3) as u8),
        _ => Ask::Copy { from: cell, to: other },
    }
}

/// A run of the cells, in which now and then what is read is not what was there.
fn run(random: &mut Random) -> Vec<Call> {
    let mut cells = [0; CELLS];
    let (writers, operations) = (2 + random.below(4) as u32, 3 + random.below(7) as usize);
    let happen = |_: &mut Random, ask: &Ask| {
        let (answer, next) = apply(cells, *ask);
        cells = next;
        answer
    };
    let run = simulate(random, writers, operations, ask, happen);
    let calls = run.into_iter().filter_map(|simulated| simulated.witnessed());
    let call = |(operation, called, returned)| Call { operation, called, returned };
    let mut calls: Vec<Call> = calls.map(call).collect();
    if random.one_in(2) && !calls.is_empty() {
        let place = random.below(calls.len() as u64) as usize;
        let wrong = random.below(3) as u8;
        match &mut calls[place].returned {
            Some((_, Answer::Value(value))) => *value = wrong,
            Some((_, Answer::All(cells))) => cells[random.below(CELLS as u64) as usize] = wrong,
            _ => {}
        }
    }
    calls
}

fn plainly(calls: &[Call]) -> Outcome {
    let intervals: Vec<Interval<Answer>> =
        calls.iter().map(|call| (call.called, call.returned)).collect();
    let apply = |cells: &[u8; CELLS], place: usize| apply(*cells, calls[place].operation);
    Plain { calls: &intervals, apply: &apply }.search(&[0; CELLS])
}

/// The prefix explains its answers, and what is expected then was not seen.
fn is_true(calls: &[Call], violation: &Violation<(), Answer>) {
    let mut cells = [0; CELLS];
    for place in &violation.prefix {
        let call = &calls[*place];
        let (answer, next) = apply(cells, call.operation);
        assert!(call.returned.is_none_or(|(_, seen)| seen == answer));
        cells = next;
    }
    let stuck = &calls[violation.stuck];
    assert_eq!(apply(cells, stuck.operation).0, violation.expected);
    assert!(stuck.returned.is_some_and(|(_, seen)| seen != violation.expected));
}

#[test]
fn the_verdict_is_that_of_the_plain_search_whatever_need_not_be_tried() {
    let (mut random, mut violations) = (Random(3), 0);
    let histories = histories();
    for _ in 0..histories {
        let calls = run(&mut random);
        let outcome = plainly(&calls);
        for verdict in verdicts(&Cells, calls.clone()) {
            match (verdict, &outcome) {
                (Verdict::Linearizable { .. }, Outcome::Linearizable) => {}
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
    assert!((5..=60).contains(&share), "{share} percent are violations");
}

#[test]
fn what_does_not_meet_the_first_return_may_be_connected_with_it() {
    let call = |operation, called, returned| Call { operation, called, returned };
    let written = |at| Some((at, Answer::Written));
    let copied = |copy| {
        // The read returns first. It sees what is copied of what is written elsewhere.
        vec![
            call(Ask::Write(0, 1), 0, written(10)),
            call(Ask::Copy { from: 0, to: 1 }, 1, copy),
            call(Ask::Read(1), 2, Some((3, Answer::Value(1)))),
        ]
    };
    for copy in [written(9), None] {
        let verdict = check(&Cells, copied(copy), |_| ControlFlow::Continue(()));
        assert!(matches!(verdict, Verdict::Linearizable { .. }), "{verdict:?}");
    }
}

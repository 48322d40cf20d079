//! Long histories need no deep stack, and a clock that runs back no panic.

use std::ops::ControlFlow;

use stagefault_models::checker::{Called, Verdict, check, check_history};
use stagefault_models::{Completion, History, Recorded, Reply, Returned};

use crate::specifications::register::{Answer, Ask, Call, Register};
use crate::words::*;

#[test]
fn a_long_history_is_decided_on_a_small_stack() {
    let decide = || {
        let operations = (0..5_000u64).map(|number| {
            let operation = match number {
                0 => create(),
                _ => append([message(&number.to_string(), 1)]),
            };
            let reply = match number {
                0 => Reply::Created { version: 1 },
                _ => Reply::Appended { appended: 1, total: number },
            };
            let returned =
                Some(Returned { at: 2 * number + 1, completion: Completion::Done(reply) });
            Recorded { writer: 0, operation, called: 2 * number, returned }
        });
        let history = History { operations: operations.collect() };
        check_history(&history, |_| ControlFlow::Continue(()))
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(decide);
    let verdict = thread.expect("a thread").join().expect("no overflow");
    assert!(matches!(verdict, Verdict::Linearizable { .. }), "{verdict:?}");
}

#[test]
fn a_register_written_200_000_times_is_decided_on_a_small_stack() {
    let decide = || {
        let calls = (0..200_000u64).map(|number| Call {
            operation: Ask::Write(number as i64),
            called: 2 * number,
            returned: Some((2 * number + 1, Answer::Set(true))),
        });
        check(&Register, calls, |_| ControlFlow::Continue(()))
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(decide);
    let verdict = thread.expect("a thread").join().expect("no overflow");
    assert!(matches!(verdict, Verdict::Linearizable { .. }), "{verdict:?}");
}

#[test]
fn a_clock_that_runs_back_makes_no_panic() {
    let call =
        |called, at, ask, answer| Called { operation: ask, called, returned: Some((at, answer)) };
    let calls = vec![
        call(u64::MAX, 0, Ask::Write(1), Answer::Set(true)),
        call(5, 5, Ask::Read, Answer::Value(None)),
        call(5, 5, Ask::Read, Answer::Value(None)),
        call(0, 0, Ask::CompareAndSet(1, 2), Answer::Set(false)),
    ];
    let verdict = check(&Register, calls, |_| ControlFlow::Continue(()));
    assert!(matches!(verdict, Verdict::Linearizable { .. }), "{verdict:?}");
}

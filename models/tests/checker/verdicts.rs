//! Verdicts that can be told by hand, and what a reader is told of a violation.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use stagefault_models::checker::sessions::Explanation;
use stagefault_models::checker::{Verdict, Violation, check_history};
use stagefault_models::{
    CallState, Cause, CleanedStaging, Completion, ExpiredCall, Failure, History, Id, Operation,
    Reason, Recorded, Refusal, Reply, Returned,
};

use crate::words::*;

fn failure() -> Failure {
    Failure { cause: Cause::Connection, reason: Reason("gone".into()) }
}

/// Operations with their calls and returns, each of a writer of its own.
fn history<const N: usize>(operations: [(u64, u64, Operation, Completion); N]) -> History {
    let recorded = |(writer, (called, at, operation, completion))| Recorded {
        writer,
        operation,
        called,
        returned: Some(Returned { at, completion }),
    };
    History { operations: (0..).zip(operations).map(recorded).collect() }
}

fn verdict(history: &History) -> Verdict<Id, Completion> {
    check_history(history, |_| ControlFlow::Continue(()))
}

#[track_caller]
fn holds(history: &History) {
    let verdict = verdict(history);
    assert!(matches!(verdict, Verdict::Linearizable { .. }), "{verdict:?}");
}

/// It holds if these operations in doubt happened.
#[track_caller]
fn holds_if<const N: usize>(history: &History, expected: [usize; N]) {
    match verdict(history) {
        Verdict::Linearizable { happened } => assert_eq!(happened, BTreeSet::from(expected)),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn violation(history: &History) -> Violation<Id, Completion> {
    match verdict(history) {
        Verdict::Violation(violation) => violation,
        other => panic!("{other:?}"),
    }
}

fn done(reply: Reply) -> Completion {
    Completion::Done(reply)
}

fn created() -> Completion {
    done(Reply::Created { version: 1 })
}

#[test]
fn nothing_is_linearizable() {
    holds(&History::default());
}

#[test]
fn of_two_consumers_after_one_request_one_takes_the_interrupt() {
    let two = |second| {
        history([
            (0, 1, create(), created()),
            (2, 3, request_interrupt(), done(Reply::InterruptRequested)),
            (4, 6, consume_interrupt(), done(Reply::Interrupt { taken: true })),
            (5, 7, consume_interrupt(), done(Reply::Interrupt { taken: second })),
        ])
    };
    holds(&two(false));
    assert_eq!(violation(&two(true)).expected, done(Reply::Interrupt { taken: false }));
}

#[test]
fn an_operation_in_doubt_may_happen_late_or_never_and_not_twice() {
    let appended = |total| done(Reply::Appended { appended: 0, total });
    let late = |first, second| {
        history([
            (0, 1, create(), created()),
            (2, 3, append([message("m", 1)]), Completion::Unknown(failure())),
            (4, 5, append([]), appended(first)),
            (6, 7, append([]), appended(second)),
        ])
    };
    holds_if(&late(0, 0), []);
    holds_if(&late(0, 1), [1]);
    holds_if(&late(1, 1), [1]);
    assert_eq!(violation(&late(1, 0)).stuck, 3);
    assert_eq!(violation(&late(0, 2)).stuck, 3);
}

#[test]
fn an_operation_that_was_not_applied_never_happens() {
    let not_applied = |total| {
        history([
            (0, 1, create(), created()),
            (2, 3, append([message("m", 1)]), Completion::NotApplied(failure())),
            (4, 5, append([]), done(Reply::Appended { appended: 0, total })),
        ])
    };
    holds(&not_applied(0));
    assert_eq!(violation(&not_applied(1)).stuck, 2);
}

#[test]
fn a_session_may_go_and_come_again() {
    holds(&history([
        (0, 1, load(), Completion::Refused(Refusal::SessionNotFound)),
        (2, 3, create(), created()),
        (4, 5, append([message("m", 1)]), done(Reply::Appended { appended: 1, total: 1 })),
        (6, 9, delete(), done(Reply::Deleted)),
        (7, 8, create(), created()),
        (10, 11, append([]), done(Reply::Appended { appended: 0, total: 0 })),
    ]));
}

/// Two sessions with a call and a staged call each, swept by one `ExpireCalls` and `Cleanup`
/// while the first session is read.
fn swept(seen: CallState, expired: &[&str], removed: &[&str]) -> History {
    let registered = || done(Reply::Registered);
    let state = |state| {
        let mut session = stagefault_models::Session::created(None);
        let call = stagefault_models::Call { run: "r".into(), deadline: 5, state };
        session.calls.insert("c".into(), call);
        done(Reply::Snapshot(session.snapshot().into()))
    };
    let calls =
        expired.iter().map(|session| ExpiredCall { session: (*session).into(), call: "c".into() });
    let rows = removed.iter().map(|session| CleanedStaging {
        session: (*session).into(),
        step: "t".into(),
        call: "c".into(),
    });
    let cleaned = Reply::Cleaned { sessions: vec![], staged: rows.collect() };
    history([
        (0, 1, of("a", create()), created()),
        (2, 3, of("b", create()), created()),
        (4, 5, of("a", register("c", "r", 5)), registered()),
        (6, 7, of("b", register("c", "r", 5)), registered()),
        (8, 12, expire_calls(6), done(Reply::CallsExpired(calls.collect()))),
        (9, 10, of("a", load()), state(seen)),
        (13, 14, of("b", stage("t", "c", 1, [])), done(Reply::Staged)),
        (15, 16, cleanup(9, 3), done(cleaned)),
    ])
}

#[test]
fn a_sweep_is_an_operation_of_each_session() {
    for order in [["a", "b"], ["b", "a"]] {
        holds(&swept(CallState::Pending, &order, &["b"]));
        holds(&swept(CallState::Expired, &order, &["b"]));
    }
}

#[test]
fn a_sweep_that_forgets_a_session_repeats_one_or_names_a_stranger_is_a_violation() {
    let sweep = |expired: &[&str]| {
        let violation = violation(&swept(CallState::Pending, expired, &["b"]));
        (violation.key.as_str().to_owned(), violation.stuck)
    };
    assert_eq!(sweep(&["a"]), ("b".into(), 4));
    assert_eq!(sweep(&["a", "b", "b"]), ("b".into(), 4));
    assert_eq!(sweep(&["a", "b", "stranger"]), ("stranger".into(), 4));
    let both = violation(&swept(CallState::Pending, &["a", "b"], &["a", "b"]));
    assert_eq!((both.key.as_str(), both.stuck), ("a", 7));
}

#[test]
fn a_sweep_in_doubt_is_in_doubt_for_each_session_alone() {
    let swept = |first, second| {
        let mut history = swept(CallState::Pending, &[], &["b"]);
        history.operations.truncate(4);
        let submit = |session, completion, called| Recorded {
            writer: called as u32,
            operation: of(session, submit("c", "r", 1, 2)),
            called,
            returned: Some(Returned { at: called + 1, completion }),
        };
        history.operations.push(Recorded {
            writer: 9,
            operation: expire_calls(6),
            called: 8,
            returned: Some(Returned { at: 9, completion: Completion::Unknown(failure()) }),
        });
        history.operations.push(submit("a", first, 20));
        history.operations.push(submit("b", second, 30));
        history
    };
    let submitted = || done(Reply::Submitted);
    let expired = || {
        let resolution = stagefault_models::Resolution::Expired;
        Completion::Refused(Refusal::CallResolved { resolution })
    };
    holds_if(&swept(submitted(), submitted()), []);
    holds_if(&swept(submitted(), expired()), [4]);
    holds_if(&swept(expired(), submitted()), [4]);
    holds_if(&swept(expired(), expired()), [4]);
}

#[test]
fn a_reply_to_another_question_is_a_violation() {
    let confused = history([(0, 1, create(), created()), (2, 3, touch(None), done(Reply::Staged))]);
    assert_eq!(violation(&confused).expected, done(Reply::Touched));
    let sweep = history([(0, 1, create(), created()), (2, 3, cleanup(1, 1), done(Reply::Staged))]);
    assert_eq!(violation(&sweep).stuck, 1);
}

#[test]
fn a_violation_is_told_to_a_reader() {
    let mut session = stagefault_models::Session::created(None);
    session.version = 2;
    let snapshot = done(Reply::Snapshot(session.snapshot().into()));
    let history = history([
        (0, 1, create(), created()),
        (2, 3, append([message("m", 1)]), Completion::Unknown(failure())),
        (4, 6, touch(Some(9)), done(Reply::Touched)),
        (5, 7, touch(None), done(Reply::Touched)),
        (8, 9, load(), snapshot),
    ]);
    let violation = violation(&history);
    let explanation = Explanation { history: &history, violation: &violation };
    insta::assert_snapshot!(explanation.to_string(), @r#"
    no order of the operations of session "s" explains all answers

    the longest order that does so has 3 operations:
      #0 writer 0 [0..1] {"CreateSession":{"session":"s"}} -> {"Done":{"Created":{"version":1}}}
      #2 writer 2 [4..6] {"Touch":{"expires_at":9,"session":"s"}} -> {"Done":"Touched"}
      #3 writer 3 [5..7] {"Touch":{"session":"s"}} -> {"Done":"Touched"}

    and cannot go on with
      #4 writer 4 [8..9] {"Load":{"session":"s"}} -> {"Done":{"Snapshot":{"calls":{},"interrupt":false,"message_count":0,"runs":[],"staged":[],"state":{},"status":"active","version":2}}}
      the model would answer  {"Done":{"Snapshot":{"version":1}}}
      what was seen           {"Done":{"Snapshot":{"version":2}}}
    "#);
}

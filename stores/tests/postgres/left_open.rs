//! A transaction that was left open would swallow what the same handle is told next, or stand
//! in everybody's way. Each test is done to the store as it is and with a flaw planted.

use std::time::Duration;

use stagefault_models::{Backend, Completion, Operation, Point, Reply, Scope, Store, Value};
use stagefault_stores::flaws::{Flaw, Flaws};
use stagefault_stores::postgres::{PostgresBackend, PostgresStore};

use crate::provoking::*;
use crate::shared::hold::{Once, drop_at};
use crate::support::*;

tests![
    a_caller_gone_while_a_transaction_begins_leaves_none_to_the_next,
    a_caller_gone_within_a_transaction_leaves_none_to_the_next,
    a_transaction_of_which_a_statement_failed_is_not_met_by_the_next,
    a_sweep_that_was_overtaken_holds_no_lock;
    without_a_guard_on_begin_what_is_acknowledged_next_vanishes,
    a_dropped_transaction_that_is_kept_swallows_what_is_acknowledged_next,
    a_failed_transaction_that_is_kept_fails_all_that_come_after_it,
    a_transaction_left_open_by_a_sweep_keeps_others_out,
];

const CLEANUP: Operation = Operation::Cleanup { now: 9, staging_ttl: 0 };

/// A session with something for a cleanup to do.
async fn with_staging(backend: &PostgresBackend) {
    let mut store = handle(backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, stage("s", "t", "c", vec![])).await;
}

/// How many messages are there when the handle has closed that appended one, and was told so.
async fn appended_for_good(mut backend: PostgresBackend, mut store: PostgresStore) -> usize {
    done(&mut store, append("s", vec![message("m", Value::Null)])).await;
    backend.reopen().await.expect("it opens again");
    let left = messages(&mut handle(&backend).await, "s").await.len();
    backend.remove().await.expect("it is removed");
    left
}

async fn appended_after_a_drop_in_begin(server: Server, flaws: Flaws) -> usize {
    let backend = server.schema_with(flaws).await;
    with_staging(&backend).await;
    let (mut store, process) = handle_and_process(&server, &backend).await;
    drop_after(&mut store, process, &CLEANUP, Point::Begin).await;
    appended_for_good(backend, store).await
}

async fn a_caller_gone_while_a_transaction_begins_leaves_none_to_the_next(server: Server) {
    assert_eq!(appended_after_a_drop_in_begin(server, Flaws::none()).await, 1);
}

async fn without_a_guard_on_begin_what_is_acknowledged_next_vanishes(server: Server) {
    let flaws = planted(Flaw::BeginNotGuarded);
    assert_eq!(appended_after_a_drop_in_begin(server, flaws).await, 0);
}

async fn appended_after_a_drop_within(server: &Server, flaws: Flaws, point: Point) -> usize {
    let backend = server.schema_with(flaws).await;
    with_staging(&backend).await;
    let mut store = handle(&backend).await;
    drop_at(&mut store, &CLEANUP, point).await;
    appended_for_good(backend, store).await
}

/// The points of a sweep from its first statement within the transaction on.
const WITHIN: [Point; 3] = [Point::Statement(2), Point::Statement(3), Point::BeforeCommit];

async fn a_caller_gone_within_a_transaction_leaves_none_to_the_next(server: Server) {
    for point in WITHIN {
        let left = appended_after_a_drop_within(&server, Flaws::none(), point).await;
        assert_eq!(left, 1, "{point:?}");
    }
}

async fn a_dropped_transaction_that_is_kept_swallows_what_is_acknowledged_next(server: Server) {
    for point in WITHIN {
        let flaws = planted(Flaw::DroppedTransactionKept);
        assert_eq!(appended_after_a_drop_within(&server, flaws, point).await, 0, "{point:?}");
    }
}

/// What becomes of some appends after a sweep of which a statement failed.
async fn appends_after_a_failed_statement(server: Server, flaws: Flaws) -> Vec<Completion> {
    let backend = server.schema_with(flaws).await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    let (session, call, run) = ("s".into(), "c".into(), "r".into());
    done(&mut store, Operation::RegisterCall { session, call, run, deadline: 1 }).await;
    fail(&server, backend.schema(), "calls", false).await;
    let swept = execute(&mut store, Operation::ExpireCalls { now: 1 }).await;
    assert!(matches!(swept, Completion::NotApplied(_)), "{swept:?}");
    drop_trigger(&server, backend.schema()).await;
    let mut appended = Vec::new();
    for id in ["a", "b", "c"] {
        appended.push(execute(&mut store, append("s", vec![message(id, 1)])).await);
    }
    remove(&server, backend).await;
    appended
}

async fn a_transaction_of_which_a_statement_failed_is_not_met_by_the_next(server: Server) {
    let appended = appends_after_a_failed_statement(server, Flaws::none()).await;
    let all = appended.iter().all(|completion| matches!(completion, Completion::Done(_)));
    assert!(all, "{appended:?}");
}

async fn a_failed_transaction_that_is_kept_fails_all_that_come_after_it(server: Server) {
    let flaws = planted(Flaw::FailedTransactionKept);
    let appended = appends_after_a_failed_statement(server, flaws).await;
    let none = appended.iter().all(|completion| matches!(completion, Completion::NotApplied(_)));
    assert!(none, "{appended:?}");
}

/// What becomes of another's touch after a sweep that another one came before, and how many
/// connections are then idle in a transaction.
async fn touch_after_a_sweep_in_vain(server: Server, flaws: Flaws) -> (Completion, i64) {
    let backend = server.schema_with(flaws).await;
    with_staging(&backend).await;
    let (mut sweeper, mut other) = (handle(&backend).await, handle(&backend).await);
    let mut earlier = handle(&backend).await;
    let hook = Once::at(Point::Begin, async {
        done(&mut earlier, CLEANUP).await;
    });
    let scope = Scope { hook: Some(&hook), ..Scope::default() };
    let swept = sweeper.execute(&CLEANUP, &scope).await;
    let nothing = Reply::Cleaned { sessions: vec![], staged: vec![] };
    assert_eq!(swept, Completion::Done(nothing));
    let touch = Operation::Touch { session: "s".into(), expires_at: None };
    let hurried = Scope { deadline: Duration::from_secs(2), ..Scope::default() };
    let touched = other.execute(&touch, &hurried).await;
    let idle = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE application_name = '{}' AND state = 'idle in transaction'",
        backend.schema()
    );
    let left = number(&mut server.raw().await, &idle).await;
    remove(&server, backend).await;
    (touched, left)
}

async fn a_sweep_that_was_overtaken_holds_no_lock(server: Server) {
    let (touched, left) = touch_after_a_sweep_in_vain(server, Flaws::none()).await;
    assert_eq!((touched, left), (Completion::Done(Reply::Touched), 0));
}

async fn a_transaction_left_open_by_a_sweep_keeps_others_out(server: Server) {
    let flaws = planted(Flaw::IdleLeftInTransaction);
    let (touched, left) = touch_after_a_sweep_in_vain(server, flaws).await;
    assert!(!matches!(touched, Completion::Done(_)), "{touched:?}");
    assert_eq!(left, 1);
}

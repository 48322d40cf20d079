//! Faults that only the inside of the store can cause: a COMMIT that is BUSY, a full
//! database, a connection left in a transaction.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, ConnectOptions};
use stagefault_models::{
    Backend, Cause, Completion, Message, Operation, Promote, Reply, Scope, Status, Store, Value,
};

use super::link::Link;
use super::{SqliteBackend, SqliteStore};
use crate::flaws::Flaws;

fn create(session: &str) -> Operation {
    Operation::CreateSession { session: session.into(), expires_at: None }
}

fn promote(expected: u64, body: Value) -> Operation {
    let message = Message { id: format!("m{expected}").into(), body };
    Operation::Promote(Promote {
        session: "s".into(),
        step: format!("t{expected}").into(),
        expected,
        status: None,
        changes: Vec::new(),
        messages: vec![message],
    })
}

async fn execute(store: &mut SqliteStore, operation: &Operation) -> Completion {
    store.execute(operation, &Scope::default()).await
}

async fn with_session() -> (SqliteBackend, SqliteStore) {
    with_session_and(Flaws::none()).await
}

async fn with_session_and(flaws: Flaws) -> (SqliteBackend, SqliteStore) {
    let backend = SqliteBackend::in_memory().await.expect("memory").with_flaws(flaws);
    let mut store = backend.store().await.expect("a handle");
    let created = execute(&mut store, &create("s")).await;
    assert_eq!(created, Completion::Done(Reply::Created { version: 1 }));
    (backend, store)
}

async fn version(store: &mut SqliteStore) -> u64 {
    match execute(store, &Operation::Load { session: "s".into() }).await {
        Completion::Done(Reply::Snapshot(snapshot)) => snapshot.version,
        other => panic!("not a snapshot: {other:?}"),
    }
}

async fn raw(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.expect(sql);
}

/// Sends a statement on the handle's own connection, past the store.
async fn on_link(store: &SqliteStore, sql: &str) {
    let mut slot = store.slot.lock().await;
    let link: &mut Link = slot.as_mut().expect("an open handle");
    link.send(sqlx::query(AssertSqlSafe(sql)), 1).await.expect(sql);
}

/// In memory a reader keeps a writer from committing, and not from beginning. The handle's
/// connection shall not wait for it: how long SQLite does is up to the machine.
async fn reader_in_the_way(backend: &SqliteBackend, store: &SqliteStore) -> SqliteConnection {
    on_link(store, "PRAGMA busy_timeout = 1").await;
    let mut reader = backend.options.connect().await.expect("a reader");
    raw(&mut reader, "BEGIN; SELECT * FROM sessions").await;
    reader
}

/// Whether others see what the handle acknowledges after a promote that was BUSY.
async fn is_seen_after_a_busy_commit(flaws: Flaws) -> bool {
    let (backend, mut store) = with_session_and(flaws).await;
    let mut reader = reader_in_the_way(&backend, &store).await;
    let busy = execute(&mut store, &promote(1, Value::Null)).await;
    assert!(matches!(busy, Completion::NotApplied(_)), "{busy:?}");
    raw(&mut reader, "COMMIT").await;
    let status = Operation::CompareAndSetStatus {
        session: "s".into(),
        from: vec![Status::Active],
        to: Status::Failed,
    };
    let set = execute(&mut store, &status).await;
    assert!(matches!(set, Completion::Done(_)), "{set:?}");
    drop(store);
    version(&mut backend.store().await.expect("a handle")).await == 2
}

#[tokio::test]
async fn what_is_acknowledged_after_a_busy_commit_is_seen() {
    assert!(is_seen_after_a_busy_commit(Flaws::none()).await);
}

#[cfg(feature = "flaws")]
#[tokio::test]
async fn a_transaction_left_open_by_a_busy_commit_swallows_what_is_acknowledged_next() {
    let flaws = Flaws::planted(crate::flaws::Flaw::BusyAtCommitLeftOpen).expect("the feature");
    assert!(!is_seen_after_a_busy_commit(flaws).await);
}

#[tokio::test]
async fn a_commit_that_is_busy_is_not_applied_and_leaves_no_transaction_open() {
    let (backend, mut store) = with_session().await;
    let mut reader = reader_in_the_way(&backend, &store).await;
    let busy = execute(&mut store, &promote(1, Value::Null)).await;
    let Completion::NotApplied(failure) = busy else { panic!("{busy:?}") };
    assert_eq!(failure.cause, Cause::Contention);
    assert!(failure.reason.0.contains("at the commit"), "{failure}");

    raw(&mut reader, "COMMIT").await;
    let mut other = backend.store().await.expect("a handle");
    assert_eq!(version(&mut other).await, 1);
    let done = execute(&mut store, &promote(1, Value::Null)).await;
    assert!(matches!(done, Completion::Done(_)), "{done:?}");
    assert_eq!(version(&mut other).await, 2);
}

#[tokio::test]
async fn a_single_statement_that_is_busy_as_it_commits_is_not_applied() {
    let (backend, mut store) = with_session().await;
    let mut reader = reader_in_the_way(&backend, &store).await;
    let busy = execute(&mut store, &create("other")).await;
    let Completion::NotApplied(failure) = busy else { panic!("{busy:?}") };
    assert_eq!(failure.cause, Cause::Contention);
    raw(&mut reader, "COMMIT").await;
    let created = execute(&mut store, &create("other")).await;
    assert_eq!(created, Completion::Done(Reply::Created { version: 1 }));
}

#[tokio::test]
async fn a_full_database_applies_nothing_and_works_again_when_there_is_room() {
    let (_backend, mut store) = with_session().await;
    on_link(&store, "PRAGMA max_page_count = 20").await;
    let full = execute(&mut store, &promote(1, Value::string("x".repeat(1 << 19)))).await;
    let Completion::NotApplied(failure) = full else { panic!("{full:?}") };
    assert_eq!(failure.cause, Cause::OutOfSpace);
    assert_eq!(version(&mut store).await, 1);
    let done = execute(&mut store, &promote(1, Value::Null)).await;
    assert!(matches!(done, Completion::Done(_)), "{done:?}");
}

#[tokio::test]
async fn a_connection_that_cannot_be_proved_free_of_a_transaction_is_replaced() {
    let (backend, mut store) = with_session().await;
    on_link(&store, "BEGIN IMMEDIATE").await;
    on_link(&store, "UPDATE sessions SET version = 99").await;
    store.slot.lock().await.as_mut().expect("an open handle").begun();
    assert_eq!(version(&mut store).await, 1);
    let done = execute(&mut store, &promote(1, Value::Null)).await;
    assert!(matches!(done, Completion::Done(_)), "{done:?}");
    assert_eq!(version(&mut backend.store().await.expect("a handle")).await, 2);
}

#[tokio::test]
async fn the_connections_of_dropped_handles_are_closed_at_the_next_occasion() {
    let (backend, store) = with_session().await;
    for _ in 0..5 {
        drop(backend.store().await.expect("a handle"));
    }
    assert_eq!(backend.handles.lock().await.len(), 2);
    drop(store);
    let _store = backend.store().await.expect("a handle");
    assert_eq!(backend.handles.lock().await.len(), 1);
}

#[tokio::test]
async fn a_trace_holds_the_statements_of_an_operation_in_order() {
    let (_backend, mut store) = with_session().await;
    store.record_trace();
    let promoted = execute(&mut store, &promote(1, Value::Null)).await;
    assert!(matches!(promoted, Completion::Done(_)), "{promoted:?}");
    let stale = execute(&mut store, &promote(1, Value::Null)).await;
    assert!(matches!(stale, Completion::Refused(_)), "{stale:?}");
    let trace = store.take_trace();
    let words: Vec<&str> =
        trace.iter().filter_map(|traced| traced.sql.as_str().split_whitespace().next()).collect();
    assert_eq!(words, ["BEGIN", "UPDATE", "INSERT", "COMMIT", "BEGIN", "ROLLBACK"]);
}

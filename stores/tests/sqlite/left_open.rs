//! A transaction that was left open would swallow what the same handle is told next. Each test
//! is done to the store as it is and, in a build that has them, with a flaw planted.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use sqlx::sqlite::SqliteConnection;
#[cfg(feature = "flaws")]
use stagefault_models::Completion;
use stagefault_models::{Backend, Operation, Point, Scope, Store};
#[cfg(feature = "flaws")]
use stagefault_stores::flaws::Flaw;
use stagefault_stores::flaws::Flaws;
use stagefault_stores::sqlite::{SqliteBackend, SqliteStore};

#[cfg(feature = "flaws")]
use crate::shared::hold::HoldAt;
use crate::shared::hold::{Once, drop_at};
use crate::support::*;

const CLEANUP: Operation = Operation::Cleanup { now: 9, staging_ttl: 0 };

#[cfg(feature = "flaws")]
fn planted(flaw: Flaw) -> Flaws {
    Flaws::planted(flaw).expect("a build with the cargo feature `flaws`")
}

async fn with_staging(backend: &SqliteBackend) -> SqliteStore {
    let mut store = handle(backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, stage("s", "t", "c", vec![])).await;
    store
}

async fn raw_on(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.expect(sql);
}

/// Whether it is there when the handle has closed that begins a run, and was told so.
async fn is_begun_for_good(mut backend: SqliteBackend, mut store: SqliteStore) -> bool {
    done(&mut store, Operation::BeginRun { session: "s".into(), run: "r".into() }).await;
    backend.reopen().await.expect("it opens again");
    !snapshot(&mut handle(&backend).await, "s").await.runs.is_empty()
}

/// Drops the operation when it waits for what it sends after the point, which it must.
async fn drop_after(store: &mut SqliteStore, operation: &Operation, point: Point) {
    let passed = AtomicBool::new(false);
    let hook = Once::at(point, async { passed.store(true, Ordering::Relaxed) });
    let scope = Scope { hook: Some(&hook), ..Scope::default() };
    let mut execution = pin!(store.execute(operation, &scope));
    let waits = poll_fn(|context| match execution.as_mut().poll(context) {
        Poll::Ready(completion) => panic!("it did not wait: {completion:?}"),
        Poll::Pending if passed.load(Ordering::Relaxed) => Poll::Ready(()),
        Poll::Pending => Poll::Pending,
    });
    waits.await;
}

/// Somebody has the lock for which the transaction waits as it begins, until its caller has gone.
async fn begun_after_a_drop_in_begin(flaws: Flaws) -> bool {
    let (folder, backend) = database().await;
    let backend = backend.with_flaws(flaws);
    let mut store = with_staging(&backend).await;
    let mut holder = raw(&folder.path().join("store.db")).await;
    raw_on(&mut holder, "BEGIN IMMEDIATE").await;
    drop_after(&mut store, &CLEANUP, Point::Begin).await;
    raw_on(&mut holder, "COMMIT").await;
    is_begun_for_good(backend, store).await
}

#[tokio::test]
async fn a_caller_gone_while_a_transaction_begins_leaves_none_to_the_next() {
    assert!(begun_after_a_drop_in_begin(Flaws::none()).await);
}

#[cfg(feature = "flaws")]
#[tokio::test]
async fn without_a_guard_on_begin_what_is_acknowledged_next_vanishes() {
    assert!(!begun_after_a_drop_in_begin(planted(Flaw::BeginNotGuarded)).await);
}

async fn begun_after_a_drop_within(flaws: Flaws, point: Point) -> bool {
    let (_folder, backend) = database().await;
    let backend = backend.with_flaws(flaws);
    let mut store = with_staging(&backend).await;
    drop_at(&mut store, &CLEANUP, point).await;
    is_begun_for_good(backend, store).await
}

/// The points of a cleanup within its transaction.
const WITHIN: [Point; 3] = [Point::Statement(1), Point::Statement(2), Point::BeforeCommit];

#[tokio::test]
async fn a_caller_gone_within_a_transaction_leaves_none_to_the_next() {
    for point in WITHIN {
        assert!(begun_after_a_drop_within(Flaws::none(), point).await, "{point:?}");
    }
}

#[cfg(feature = "flaws")]
#[tokio::test]
async fn a_dropped_transaction_that_is_kept_swallows_what_is_acknowledged_next() {
    for point in WITHIN {
        let flaws = planted(Flaw::DroppedTransactionKept);
        assert!(!begun_after_a_drop_within(flaws, point).await, "{point:?}");
    }
}

/// Without the flaw:
/// `faults::a_deadline_before_the_commit_is_sent_is_not_applied_and_after_it_is_in_doubt`.
#[cfg(feature = "flaws")]
#[tokio::test]
async fn a_deadline_after_the_commit_told_as_not_applied_is_a_lie() {
    let (_folder, backend) = database().await;
    let mut store = with_staging(&backend.with_flaws(planted(Flaw::TimeoutNotApplied))).await;
    let hook = HoldAt::new(Point::Reply);
    let scope = Scope { deadline: std::time::Duration::from_secs(2), hook: Some(&hook) };
    let completion = store.execute(&promote("s", "t", 1, vec![], vec![]), &scope).await;
    assert!(matches!(completion, Completion::NotApplied(_)), "{completion:?}");
    assert_eq!(snapshot(&mut store, "s").await.version, 2, "it is applied");
}

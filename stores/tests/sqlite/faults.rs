//! A caller that goes away, a deadline that passes, and a lock that somebody else holds.

use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use stagefault_models::{
    Backend, Cause, Completion, Operation, Point, Refusal, Reply, Scope, Store, Value,
};
use stagefault_stores::sqlite::SqliteBackend;

use crate::shared::hold::{HoldAt, drop_at};
use crate::support::*;

const DEADLINE: Duration = Duration::from_millis(300);

/// All points that a promote with staging and messages reaches.
const POINTS: [Point; 8] = [
    Point::Acquire,
    Point::Begin,
    Point::Statement(1),
    Point::Statement(2),
    Point::Statement(3),
    Point::Statement(4),
    Point::BeforeCommit,
    Point::Reply,
];

/// The promote of `step` at this version, with something of everything.
fn promotion(step: &str, version: u64) -> Operation {
    promote("s", step, version, vec![set("k", 1)], vec![message(step, Value::Null)])
}

async fn with_staging(backend: &SqliteBackend, step: &str) {
    let mut store = handle(backend).await;
    let _ = execute(&mut store, create("s")).await;
    done(&mut store, stage("s", step, "c", vec![set("staged", step)])).await;
}

#[tokio::test]
async fn a_promote_dropped_at_any_point_is_whole_or_nothing_and_poisons_nothing() {
    let (_folder, mut backend) = database().await;
    let mut version = 1;
    for (number, point) in POINTS.into_iter().enumerate() {
        let step = format!("t{number}");
        with_staging(&backend, &step).await;
        let mut store = handle(&backend).await;
        let before = snapshot(&mut store, "s").await;
        drop_at(&mut store, &promotion(&step, version), point).await;

        // Nobody else waits for a lock that the dropped promote left behind.
        let mut other = handle(&backend).await;
        let hurried = Scope { deadline: DEADLINE, ..Scope::default() };
        let touch = Operation::Touch { session: "s".into(), expires_at: None };
        let completion = other.execute(&touch, &hurried).await;
        assert_eq!(completion, Completion::Done(Reply::Touched), "{point:?}");

        // What the same handle acknowledges next is there after reopening.
        let own = message(&format!("own {number}"), Value::Null);
        done(&mut store, append("s", vec![own.clone()])).await;
        backend.reopen().await.expect("it opens again");
        let mut store = handle(&backend).await;
        assert!(messages(&mut store, "s").await.contains(&own), "{point:?}");

        let after = snapshot(&mut store, "s").await;
        if point == Point::Reply {
            version += 1;
            assert_eq!(after.state.get(&"staged".into()), Some(&Value::from(&*step)));
        } else {
            assert_eq!(after.state, before.state, "{point:?}");
            done(&mut store, Operation::Discard { session: "s".into(), step: (*step).into() })
                .await;
        }
        assert_eq!(after.version, version, "{point:?}");
        assert_eq!(after.staged.len(), usize::from(point != Point::Reply), "{point:?}");
    }
}

#[tokio::test]
async fn a_promote_dropped_after_any_number_of_polls_is_whole_or_nothing() {
    let (_folder, mut backend) = database().await;
    with_staging(&backend, "t").await;
    let mut store = handle(&backend).await;
    for polls in 0..60 {
        let step = format!("t{polls}");
        with_staging(&backend, &step).await;
        let before = snapshot(&mut store, "s").await;
        let operation = promotion(&step, before.version);
        {
            let scope = Scope::default();
            let mut promote = pin!(store.execute(&operation, &scope));
            for _ in 0..polls {
                if promote.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                    break;
                }
                std::thread::sleep(Duration::from_micros(30));
            }
        }
        let own = message(&format!("own {polls}"), Value::Null);
        done(&mut store, append("s", vec![own.clone()])).await;
        let after = snapshot(&mut store, "s").await;
        let applied = after.version - before.version;
        assert!(applied <= 1);
        assert_eq!(after.message_count, before.message_count + 1 + applied);
        assert_eq!(after.staged.len() as u64, before.staged.len() as u64 - applied);
        if polls % 20 == 19 {
            backend.reopen().await.expect("it opens again");
            store = handle(&backend).await;
            assert_eq!(snapshot(&mut store, "s").await, after);
            assert!(messages(&mut store, "s").await.contains(&own));
        }
    }
}

#[tokio::test]
async fn a_deadline_before_the_commit_is_sent_is_not_applied_and_after_it_is_in_doubt() {
    let (_folder, backend) = database().await;
    with_staging(&backend, "t").await;
    let mut store = handle(&backend).await;
    for point in POINTS {
        let hook = HoldAt::new(point);
        let scope = Scope { deadline: DEADLINE, hook: Some(&hook) };
        let started = Instant::now();
        let completion = store.execute(&promotion("t", 1), &scope).await;
        assert!(started.elapsed() < 3 * DEADLINE);
        let version = snapshot(&mut store, "s").await.version;
        match (point, completion) {
            (Point::Reply, Completion::Unknown(failure)) => {
                assert_eq!((failure.cause, version), (Cause::Deadline, 2));
            }
            (_, Completion::NotApplied(failure)) if point != Point::Reply => {
                assert_eq!((failure.cause, version), (Cause::Deadline, 1), "{point:?}");
            }
            (_, other) => panic!("{point:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_refusal_whose_reply_is_late_is_not_applied() {
    let (_folder, backend) = database().await;
    let mut store = handle(&backend).await;
    let hook = HoldAt::new(Point::Reply);
    let scope = Scope { deadline: DEADLINE, hook: Some(&hook) };
    for operation in [load("s"), promotion("t", 1), delete("s"), stage("s", "t", "c", vec![])] {
        let completion = store.execute(&operation, &scope).await;
        assert!(matches!(completion, Completion::NotApplied(_)), "{operation:?}: {completion:?}");
    }
}

#[tokio::test]
async fn a_lock_held_too_long_is_contention_within_the_deadline() {
    let (folder, backend) = database().await;
    with_staging(&backend, "t").await;
    let mut holder = raw(&folder.path().join("store.db")).await;
    let lock = async |holder: &mut _, sql: &'static str| {
        sqlx::raw_sql(sql).execute(holder).await.expect(sql);
    };
    lock(&mut holder, "BEGIN IMMEDIATE").await;
    // SQLite gives up an eighth of the deadline before the store does: half a second, which
    // a busy machine has to spare.
    let deadline = Duration::from_secs(4);
    let refused = async |operation: Operation| {
        let (mut store, started) = (handle(&backend).await, Instant::now());
        let completion = store.execute(&operation, &Scope { deadline, ..Scope::default() }).await;
        let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
        assert_eq!(failure.cause, Cause::Contention, "{failure}");
        assert!(started.elapsed() < 2 * deadline, "{:?}", started.elapsed());
    };
    tokio::join!(
        refused(promotion("t", 1)),
        refused(append("s", vec![message("m", 1)])),
        refused(delete("s")),
    );
    let mut store = handle(&backend).await;
    // Readers do not wait for a writer.
    assert_eq!(snapshot(&mut store, "s").await.version, 1);
    lock(&mut holder, "COMMIT").await;
    done(&mut store, promotion("t", 1)).await;
}

#[tokio::test]
async fn a_handle_waits_for_a_lock_that_is_given_back_in_time() {
    let (folder, backend) = database().await;
    with_staging(&backend, "t").await;
    let mut store = handle(&backend).await;
    let mut holder = raw(&folder.path().join("store.db")).await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut holder).await.expect("the lock");
    let promotion = promotion("t", 1);
    let scope = Scope::default();
    let (completion, ()) = tokio::join!(store.execute(&promotion, &scope), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.expect("the end of the lock");
    });
    assert!(matches!(completion, Completion::Done(_)), "{completion:?}");
}

#[tokio::test]
async fn a_promote_repeated_after_its_reply_was_lost_learns_that_its_step_is_closed() {
    let (_folder, backend) = database().await;
    with_staging(&backend, "t").await;
    let mut store = handle(&backend).await;
    drop_at(&mut store, &promotion("t", 1), Point::Reply).await;
    let again = execute(&mut store, promotion("t", 1)).await;
    assert_eq!(again, Completion::Refused(Refusal::StepClosed));
    let late = execute(&mut store, stage("s", "t", "late", vec![])).await;
    assert_eq!(late, Completion::Refused(Refusal::StepClosed));
    assert!(snapshot(&mut store, "s").await.staged.is_empty());
}

//! A caller that goes away, a deadline that passes, and a lock that somebody else holds.

use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use sqlx::Connection;
use stagefault_models::{
    Backend, Cause, Completion, ExpiredCall, Operation, Point, Refusal, Reply, Scope, Store, Value,
};
use stagefault_stores::postgres::PostgresBackend;

use crate::shared::hold::{HoldAt, drop_at};
use crate::support::*;

tests![
    a_promote_dropped_at_any_point_is_whole_or_nothing_and_poisons_nothing,
    a_sweep_dropped_at_any_point_is_whole_or_nothing_and_holds_no_lock,
    a_promote_dropped_after_any_number_of_polls_is_whole_or_nothing,
    a_deadline_before_the_commit_is_sent_is_not_applied_and_after_it_is_in_doubt,
    a_commit_that_takes_longer_than_the_deadline_is_in_doubt_and_may_come_late,
    a_refusal_whose_reply_is_late_is_not_applied,
    a_lock_held_too_long_is_contention_within_the_deadline,
    a_handle_waits_for_a_lock_that_is_given_back_in_time,
    a_promote_repeated_after_its_reply_was_lost_learns_that_its_step_is_closed,
];

const DEADLINE: Duration = Duration::from_millis(800);

/// All points that a promote reaches that nobody overtakes.
const POINTS: [Point; 4] = [Point::Acquire, Point::Statement(1), Point::BeforeCommit, Point::Reply];

/// All points that a sweep reaches that finds something.
const SWEEP_POINTS: [Point; 7] = [
    Point::Acquire,
    Point::Statement(1),
    Point::Begin,
    Point::Statement(2),
    Point::Statement(3),
    Point::BeforeCommit,
    Point::Reply,
];

/// The promote of `step` at this version, with something of everything.
fn promotion(step: &str, version: u64) -> Operation {
    promote("s", step, version, vec![set("k", 1)], vec![message(step, Value::Null)])
}

async fn with_staging(backend: &PostgresBackend, step: &str) {
    let mut store = handle(backend).await;
    let _ = execute(&mut store, create("s")).await;
    done(&mut store, stage("s", step, "c", vec![set("staged", step)])).await;
}

/// A touch of session `s`, for which no lock must stand in the way for long.
async fn touches(backend: &PostgresBackend) {
    let hurried = Scope { deadline: DEADLINE, ..Scope::default() };
    let touch = Operation::Touch { session: "s".into(), expires_at: None };
    let completion = handle(backend).await.execute(&touch, &hurried).await;
    assert_eq!(completion, Completion::Done(Reply::Touched));
}

async fn a_promote_dropped_at_any_point_is_whole_or_nothing_and_poisons_nothing(server: Server) {
    let mut backend = server.schema().await;
    let mut version = 1;
    for (number, point) in POINTS.into_iter().enumerate() {
        let step = format!("t{number}");
        with_staging(&backend, &step).await;
        let mut store = handle(&backend).await;
        let before = snapshot(&mut store, "s").await;
        drop_at(&mut store, &promotion(&step, version), point).await;
        touches(&backend).await;

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
    remove(&server, backend).await;
}

async fn a_sweep_dropped_at_any_point_is_whole_or_nothing_and_holds_no_lock(server: Server) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    for (number, point) in SWEEP_POINTS.into_iter().enumerate() {
        for call in ["a", "b"] {
            let (session, call) = ("s".into(), format!("{call}{number}").into());
            let register = Operation::RegisterCall { session, call, run: "r".into(), deadline: 1 };
            done(&mut store, register).await;
        }
        let expire = Operation::ExpireCalls { now: 1 };
        drop_at(&mut store, &expire, point).await;
        touches(&backend).await;
        let expired = if point == Point::Reply { vec![] } else { vec!["a", "b"] };
        let expired = expired.into_iter().map(|call| ExpiredCall {
            session: "s".into(),
            call: format!("{call}{number}").into(),
        });
        let swept = done(&mut store, expire).await;
        assert_eq!(swept, Reply::CallsExpired(expired.collect()), "{point:?}");
    }
    remove(&server, backend).await;
}

async fn a_promote_dropped_after_any_number_of_polls_is_whole_or_nothing(server: Server) {
    let mut backend = server.schema().await;
    with_staging(&backend, "t").await;
    let mut store = handle(&backend).await;
    for polls in 0..30 {
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
                tokio::time::sleep(Duration::from_micros(100)).await;
            }
        }
        let own = message(&format!("own {polls}"), Value::Null);
        done(&mut store, append("s", vec![own.clone()])).await;
        server.settle(&backend).await;
        let after = snapshot(&mut store, "s").await;
        let applied = after.version - before.version;
        assert!(applied <= 1);
        assert_eq!(after.message_count, before.message_count + 1 + applied);
        assert_eq!(after.staged.len() as u64, before.staged.len() as u64 - applied);
        if polls % 10 == 9 {
            backend.reopen().await.expect("it opens again");
            store = handle(&backend).await;
            assert_eq!(snapshot(&mut store, "s").await, after);
            assert!(messages(&mut store, "s").await.contains(&own));
        }
    }
    remove(&server, backend).await;
}

async fn a_deadline_before_the_commit_is_sent_is_not_applied_and_after_it_is_in_doubt(
    server: Server,
) {
    let backend = server.schema().await;
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
    remove(&server, backend).await;
}

async fn a_commit_that_takes_longer_than_the_deadline_is_in_doubt_and_may_come_late(
    server: Server,
) {
    let backend = server.schema().await;
    with_staging(&backend, "t").await;
    let schema = backend.schema();
    // What is deferred to the commit is not under the server's own timeout.
    let slow = format!(
        "CREATE FUNCTION {schema}.slow() RETURNS trigger LANGUAGE plpgsql
             AS 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON {schema}.messages
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.slow()"
    );
    server.execute_raw(&slow).await;
    let mut store = handle(&backend).await;
    let scope = Scope { deadline: DEADLINE, ..Scope::default() };
    let completion = store.execute(&promotion("t", 1), &scope).await;
    let Completion::Unknown(failure) = completion else { panic!("{completion:?}") };
    assert_eq!(failure.cause, Cause::Deadline);
    // The handle goes on, and the commit comes when it comes.
    assert_eq!(snapshot(&mut store, "s").await.version, 1);
    server.settle(&backend).await;
    assert_eq!(snapshot(&mut store, "s").await.version, 2);
    let clear = format!("DROP TRIGGER slow ON {schema}.messages; DROP FUNCTION {schema}.slow");
    server.execute_raw(&clear).await;
    remove(&server, backend).await;
}

async fn a_refusal_whose_reply_is_late_is_not_applied(server: Server) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    let hook = HoldAt::new(Point::Reply);
    let scope = Scope { deadline: DEADLINE, hook: Some(&hook) };
    for operation in [load("s"), promotion("t", 1), delete("s"), stage("s", "t", "c", vec![])] {
        let completion = store.execute(&operation, &scope).await;
        assert!(matches!(completion, Completion::NotApplied(_)), "{operation:?}: {completion:?}");
    }
    remove(&server, backend).await;
}

async fn a_lock_held_too_long_is_contention_within_the_deadline(server: Server) {
    let backend = server.schema().await;
    with_staging(&backend, "t").await;
    let mut store = handle(&backend).await;
    let mut holder = server.raw().await;
    let hold = format!("BEGIN; SELECT FROM {}.sessions FOR UPDATE", backend.schema());
    raw_on(&mut holder, &hold).await;
    let begin_run = Operation::BeginRun { session: "s".into(), run: "r".into() };
    let discard = Operation::Discard { session: "s".into(), step: "t".into() };
    let appending = append("s", vec![message("m", 1)]);
    for operation in [promotion("t", 1), appending, delete("s"), begin_run, discard] {
        let started = Instant::now();
        let scope = Scope { deadline: DEADLINE, ..Scope::default() };
        let completion = store.execute(&operation, &scope).await;
        let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
        assert_eq!(failure.cause, Cause::Contention, "{operation:?}: {failure}");
        assert!(started.elapsed() < DEADLINE + DEADLINE / 2, "{:?}", started.elapsed());
    }
    // Readers do not wait for a writer.
    assert_eq!(snapshot(&mut store, "s").await.version, 1);
    holder.close().await.expect("the lock is given back");
    done(&mut store, promotion("t", 1)).await;
    remove(&server, backend).await;
}

async fn a_handle_waits_for_a_lock_that_is_given_back_in_time(server: Server) {
    let backend = server.schema().await;
    with_staging(&backend, "t").await;
    let mut store = handle(&backend).await;
    let mut holder = server.raw().await;
    let hold = format!("BEGIN; SELECT FROM {}.sessions FOR UPDATE", backend.schema());
    raw_on(&mut holder, &hold).await;
    let promotion = promotion("t", 1);
    let scope = Scope::default();
    let (completion, ()) = tokio::join!(store.execute(&promotion, &scope), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        raw_on(&mut holder, "ROLLBACK").await;
    });
    assert!(matches!(completion, Completion::Done(_)), "{completion:?}");
    remove(&server, backend).await;
}

async fn a_promote_repeated_after_its_reply_was_lost_learns_that_its_step_is_closed(
    server: Server,
) {
    let backend = server.schema().await;
    with_staging(&backend, "t").await;
    let mut store = handle(&backend).await;
    drop_at(&mut store, &promotion("t", 1), Point::Reply).await;
    let again = execute(&mut store, promotion("t", 1)).await;
    assert_eq!(again, Completion::Refused(Refusal::StepClosed));
    let late = execute(&mut store, stage("s", "t", "late", vec![])).await;
    assert_eq!(late, Completion::Refused(Refusal::StepClosed));
    assert!(snapshot(&mut store, "s").await.staged.is_empty());
    remove(&server, backend).await;
}

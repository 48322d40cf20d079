//! Sweeps among other writers, and among each other.

use std::time::Duration;

use sqlx::Connection;
use stagefault_models::{
    CallState, CleanedStaging, Completion, ExpiredCall, Operation, Refusal, Reply, Scope, Store,
};
use stagefault_stores::postgres::PostgresStore;

use crate::support::*;

tests![
    of_sweeps_at_once_each_call_is_listed_once,
    a_call_is_not_registered_in_the_middle_of_a_sweep,
    nothing_is_staged_in_the_middle_of_a_cleanup,
    a_session_touched_in_time_outlives_a_cleanup,
    a_session_that_expires_no_longer_but_staged_too_early_is_cleaned,
    staging_is_promoted_or_cleaned_and_never_both,
    sweeps_at_once_do_not_wait_for_each_other_in_a_circle,
];

fn register(session: &str, call: &str) -> Operation {
    let (session, call, run) = (session.into(), call.into(), "r".into());
    Operation::RegisterCall { session, call, run, deadline: 5 }
}

const EXPIRE: Operation = Operation::ExpireCalls { now: 5 };
const CLEANUP: Operation = Operation::Cleanup { now: 10, staging_ttl: 0 };

fn touch(session: &str, expires_at: u64) -> Operation {
    Operation::Touch { session: session.into(), expires_at: Some(expires_at) }
}

async fn of_sweeps_at_once_each_call_is_listed_once(server: Server) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    let mut expected = Vec::new();
    for session in ["a", "b", "c"] {
        done(&mut store, create(session)).await;
        for call in ["1", "2", "3"] {
            done(&mut store, register(session, call)).await;
            expected.push(ExpiredCall { session: session.into(), call: call.into() });
        }
    }
    let replies = at_once(&backend, 6, |_, mut store| async move {
        match done(&mut store, EXPIRE).await {
            Reply::CallsExpired(calls) => calls,
            other => panic!("not a sweep's reply: {other:?}"),
        }
    });
    let mut listed = replies.await.concat();
    listed.sort_unstable();
    assert_eq!(listed, expected);
    remove(&server, backend).await;
}

/// What becomes of an operation that has not much time.
async fn hurried(store: &mut PostgresStore, operation: &Operation) -> Completion {
    let scope = Scope { deadline: Duration::from_millis(800), ..Scope::default() };
    store.execute(operation, &scope).await
}

async fn a_call_is_not_registered_in_the_middle_of_a_sweep(server: Server) {
    let backend = server.schema().await;
    let (mut sweeper, mut other) = (handle(&backend).await, handle(&backend).await);
    done(&mut other, create("s")).await;
    done(&mut other, register("s", "a")).await;

    // The sweep has the session, and waits for the call.
    let mut holder = server.raw().await;
    let hold = format!("BEGIN; SELECT FROM {}.calls FOR UPDATE", backend.schema());
    raw_on(&mut holder, &hold).await;
    let sweep = tokio::spawn(async move { done(&mut sweeper, EXPIRE).await });
    let waits = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}'
         AND wait_event_type = 'Lock' AND query LIKE '%UPDATE calls%'",
        backend.schema()
    );
    let mut watcher = server.raw().await;
    becomes(&mut watcher, &waits, 1).await;

    let registered = hurried(&mut other, &register("s", "b")).await;
    assert!(matches!(registered, Completion::NotApplied(_)), "{registered:?}");
    let calls = snapshot(&mut other, "s").await.calls;
    assert!(
        calls.len() == 1 && calls.iter().all(|(_, call)| call.state == CallState::Pending),
        "{calls:?}"
    );
    holder.close().await.expect("the lock is given back");
    let expired = vec![ExpiredCall { session: "s".into(), call: "a".into() }];
    assert_eq!(sweep.await.expect("no panic"), Reply::CallsExpired(expired));
    done(&mut other, register("s", "b")).await;
    remove(&server, backend).await;
}

async fn nothing_is_staged_in_the_middle_of_a_cleanup(server: Server) {
    let backend = server.schema().await;
    let (mut sweeper, mut other) = (handle(&backend).await, handle(&backend).await);
    done(&mut other, create("s")).await;
    done(&mut other, stage("s", "t", "a", vec![])).await;

    let mut holder = server.raw().await;
    let hold = format!("BEGIN; SELECT FROM {}.staged FOR UPDATE", backend.schema());
    raw_on(&mut holder, &hold).await;
    let sweep = tokio::spawn(async move { done(&mut sweeper, CLEANUP).await });
    let waits = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}'
         AND wait_event_type = 'Lock' AND query LIKE '%DELETE FROM staged%'",
        backend.schema()
    );
    let mut watcher = server.raw().await;
    becomes(&mut watcher, &waits, 1).await;

    for operation in [stage("s", "t", "b", vec![]), touch("s", 99), delete("s")] {
        let completion = hurried(&mut other, &operation).await;
        assert!(matches!(completion, Completion::NotApplied(_)), "{completion:?}");
    }
    holder.close().await.expect("the lock is given back");
    let staged = vec![CleanedStaging { session: "s".into(), step: "t".into(), call: "a".into() }];
    let cleaned = sweep.await.expect("no panic");
    assert_eq!(cleaned, Reply::Cleaned { sessions: vec![], staged });
    done(&mut other, stage("s", "t", "b", vec![])).await;
    remove(&server, backend).await;
}

async fn a_session_touched_in_time_outlives_a_cleanup(server: Server) {
    let backend = server.schema().await;
    let (mut one, mut two, mut three) =
        (handle(&backend).await, handle(&backend).await, handle(&backend).await);
    for round in 0..40 {
        let session = format!("s{round}");
        done(&mut one, create(&session)).await;
        done(&mut one, touch(&session, 10)).await;
        let (first, second, cleaned) = tokio::join!(
            execute(&mut one, touch(&session, 50)),
            execute(&mut two, touch(&session, 60)),
            done(&mut three, CLEANUP),
        );
        let Reply::Cleaned { sessions, .. } = cleaned else { panic!("{cleaned:?}") };
        let removed = sessions.contains(&session.as_str().into());
        let after = execute(&mut one, load(&session)).await;
        if removed {
            assert_eq!(after, Completion::Refused(Refusal::SessionNotFound));
            // Whoever touched it before set it to live on.
            for touched in [first, second] {
                assert_eq!(touched, Completion::Refused(Refusal::SessionNotFound));
            }
        } else {
            assert_eq!([first, second], [const { Completion::Done(Reply::Touched) }; 2]);
            assert!(matches!(after, Completion::Done(_)), "{after:?}");
        }
    }
    remove(&server, backend).await;
}

/// What a cleanup finds is judged anew when it is locked.
async fn a_session_that_expires_no_longer_but_staged_too_early_is_cleaned(server: Server) {
    let backend = server.schema().await;
    let (mut sweeper, mut other) = (handle(&backend).await, handle(&backend).await);
    done(&mut other, create("s")).await;
    done(&mut other, touch("s", 10)).await;
    let mut holder = server.raw().await;
    let schema = backend.schema();
    let hold = format!("BEGIN; SELECT FROM {schema}.sessions FOR UPDATE");
    raw_on(&mut holder, &hold).await;
    let sweep = tokio::spawn(async move { done(&mut sweeper, CLEANUP).await });
    let waits = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE application_name = '{schema}' AND wait_event_type = 'Lock'"
    );
    let mut watcher = server.raw().await;
    becomes(&mut watcher, &waits, 1).await;
    let meanwhile = format!(
        "INSERT INTO {schema}.staged VALUES ('s', 't', 'c', 1, '[]');
         UPDATE {schema}.sessions SET expires_at = 99; COMMIT"
    );
    raw_on(&mut holder, &meanwhile).await;
    let staged = vec![CleanedStaging { session: "s".into(), step: "t".into(), call: "c".into() }];
    let cleaned = sweep.await.expect("no panic");
    assert_eq!(cleaned, Reply::Cleaned { sessions: vec![], staged });
    assert!(snapshot(&mut other, "s").await.staged.is_empty());
    remove(&server, backend).await;
}

async fn staging_is_promoted_or_cleaned_and_never_both(server: Server) {
    let backend = server.schema().await;
    let (mut one, mut two) = (handle(&backend).await, handle(&backend).await);
    for round in 0..40 {
        let session = format!("s{round}");
        done(&mut one, create(&session)).await;
        done(&mut one, stage(&session, "t", "c", vec![set("k", 1)])).await;
        let (promoted, cleaned) = tokio::join!(
            done(&mut one, promote(&session, "t", 1, vec![], vec![])),
            done(&mut two, CLEANUP),
        );
        let Reply::Promoted { applied, .. } = promoted else { panic!("{promoted:?}") };
        let Reply::Cleaned { staged, .. } = cleaned else { panic!("{cleaned:?}") };
        assert_eq!(applied + staged.len() as u64, 1, "{staged:?}");
        let after = snapshot(&mut two, &session).await;
        assert!(after.staged.is_empty());
        assert_eq!(after.state.len() as u64, applied);
    }
    remove(&server, backend).await;
}

async fn sweeps_at_once_do_not_wait_for_each_other_in_a_circle(server: Server) {
    let backend = server.schema().await;
    at_once(&backend, 6, |writer, mut store| async move {
        for round in 0..15 {
            let session = format!("{}-{writer}", (writer * 7 + round) % 5);
            let _ = execute(&mut store, create(&session)).await;
            let _ = execute(&mut store, touch(&session, 10)).await;
            let _ = execute(&mut store, register(&session, "c")).await;
            let _ = execute(&mut store, stage(&session, "t", "c", vec![])).await;
            done(&mut store, EXPIRE).await;
            done(&mut store, CLEANUP).await;
        }
    })
    .await;
    done(&mut handle(&backend).await, CLEANUP).await;
    let rows = format!("SELECT count(*) FROM {}.sessions", backend.schema());
    assert_eq!(number(&mut server.raw().await, &rows).await, 0);
    remove(&server, backend).await;
}

//! Connections that are cut, commits that fail, and what the caller is told.

use stagefault_models::{Backend, Cause, Completion, Operation, Point, Reply, Scope, Store, Value};
use stagefault_stores::postgres::{PostgresBackend, PostgresStore};

use crate::provoking::{SLEEP, becomes_of, cut, drop_trigger, fail, trigger};
use crate::shared::hold::Once;
use crate::support::*;

tests![
    a_write_on_a_connection_that_was_cut_while_idle_is_not_applied_and_the_next_is,
    a_promote_cut_at_any_point_is_told_truly,
    a_sweep_cut_at_any_point_is_told_truly,
    a_write_cut_while_it_waits_for_a_lock_is_not_applied,
    a_write_cut_as_it_commits_is_in_doubt,
    a_write_that_fails_as_it_commits_is_not_applied,
    a_transaction_that_fails_as_it_commits_is_not_applied,
    a_transaction_of_which_a_statement_fails_is_not_applied,
    a_handle_that_connects_again_sees_that_another_schema_took_the_place,
    a_handle_that_connects_again_sees_that_the_schema_is_gone,
    an_audit_connects_again,
    a_trace_holds_the_statements_of_an_operation_in_order,
];

fn promotion(step: &str, version: u64) -> Operation {
    promote("s", step, version, vec![set("k", 1)], vec![message(step, Value::Null)])
}

async fn with_staging(server: &Server) -> (PostgresBackend, PostgresStore) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, stage("s", "t", "c", vec![set("staged", 1)])).await;
    (backend, store)
}

async fn a_write_on_a_connection_that_was_cut_while_idle_is_not_applied_and_the_next_is(
    server: Server,
) {
    let (backend, mut store) = with_staging(&server).await;
    let touch = Operation::Touch { session: "s".into(), expires_at: None };
    for operation in [promotion("t", 1), touch, append("s", vec![message("m", 1)])] {
        cut(&server, backend.schema()).await;
        let before = execute(&mut store, operation.clone()).await;
        let Completion::NotApplied(failure) = before else { panic!("{operation:?}: {before:?}") };
        assert_eq!(failure.cause, Cause::Connection);
        done(&mut store, operation).await;
    }
    assert_eq!(snapshot(&mut store, "s").await.version, 2);
    remove(&server, backend).await;
}

async fn a_promote_cut_at_any_point_is_told_truly(server: Server) {
    let (backend, mut store) = with_staging(&server).await;
    for point in [Point::Acquire, Point::Statement(1), Point::BeforeCommit, Point::Reply] {
        let hook = Once::at(point, cut(&server, backend.schema()));
        let scope = Scope { hook: Some(&hook), ..Scope::default() };
        let completion = store.execute(&promotion("t", 1), &scope).await;
        let after = snapshot(&mut handle(&backend).await, "s").await;
        match completion {
            Completion::Done(_) => assert_eq!((point, after.version), (Point::Reply, 2)),
            Completion::NotApplied(_) => assert_eq!((after.version, after.staged.len()), (1, 1)),
            other => panic!("{point:?}: {other:?}"),
        }
    }
    done(&mut handle(&backend).await, stage("s", "u", "c", vec![])).await;
    remove(&server, backend).await;
}

async fn a_sweep_cut_at_any_point_is_told_truly(server: Server) {
    let (backend, mut store) = with_staging(&server).await;
    let points = [
        Point::Acquire,
        Point::Statement(1),
        Point::Begin,
        Point::Statement(2),
        Point::Statement(3),
        Point::BeforeCommit,
        Point::Reply,
    ];
    for point in points {
        let hook = Once::at(point, cut(&server, backend.schema()));
        let scope = Scope { hook: Some(&hook), ..Scope::default() };
        let cleanup = Operation::Cleanup { now: 9, staging_ttl: 0 };
        let completion = store.execute(&cleanup, &scope).await;
        let staged = snapshot(&mut handle(&backend).await, "s").await.staged.len();
        match completion {
            Completion::Done(_) => assert_eq!((point, staged), (Point::Reply, 0)),
            Completion::NotApplied(_) => assert_eq!(staged, 1),
            // The COMMIT may still reach a server that has just ended the connection.
            Completion::Unknown(_) if point >= Point::Statement(3) => assert_eq!(staged, 1),
            other => panic!("{point:?}: {other:?}"),
        }
    }
    remove(&server, backend).await;
}

async fn a_write_cut_while_it_waits_for_a_lock_is_not_applied(server: Server) {
    let (backend, mut store) = with_staging(&server).await;
    let schema = backend.schema().to_owned();
    let mut holder = server.raw().await;
    raw_on(&mut holder, &format!("BEGIN; SELECT FROM {schema}.sessions FOR UPDATE")).await;
    let promote = promotion("t", 1);
    let scope = Scope::default();
    let (completion, ()) = tokio::join!(store.execute(&promote, &scope), async {
        becomes_of(&server, &schema, "wait_event_type = 'Lock'", 1).await;
        cut(&server, &schema).await;
    });
    let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
    assert_eq!(failure.cause, Cause::Connection);
    raw_on(&mut holder, "ROLLBACK").await;
    assert_eq!(snapshot(&mut store, "s").await.version, 1);
    done(&mut store, promote).await;
    remove(&server, backend).await;
}

/// The server has told the result of the statement by then, and is about to commit it.
async fn a_write_cut_as_it_commits_is_in_doubt(server: Server) {
    let (backend, mut store) = with_staging(&server).await;
    let schema = backend.schema().to_owned();
    trigger(&server, &schema, "messages", "DEFERRABLE INITIALLY DEFERRED", SLEEP).await;
    let promote = promotion("t", 1);
    let scope = Scope::default();
    let (completion, ()) = tokio::join!(store.execute(&promote, &scope), async {
        becomes_of(&server, &schema, "wait_event = 'PgSleep'", 1).await;
        cut(&server, &schema).await;
    });
    let Completion::Unknown(failure) = completion else { panic!("{completion:?}") };
    assert_eq!(failure.cause, Cause::Connection);
    drop_trigger(&server, &schema).await;
    assert_eq!(snapshot(&mut store, "s").await.version, 1);
    done(&mut store, promote).await;
    remove(&server, backend).await;
}

async fn a_write_that_fails_as_it_commits_is_not_applied(server: Server) {
    let (backend, mut store) = with_staging(&server).await;
    for deferred in [false, true] {
        fail(&server, backend.schema(), "messages", deferred).await;
        let completion = execute(&mut store, promotion("t", 1)).await;
        let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
        assert!(failure.reason.0.contains("at the commit"), "{failure}");
        let after = snapshot(&mut store, "s").await;
        assert_eq!((after.version, after.staged.len(), after.message_count), (1, 1, 0));
        drop_trigger(&server, backend.schema()).await;
    }
    done(&mut store, promotion("t", 1)).await;
    remove(&server, backend).await;
}

async fn with_call(server: &Server) -> (PostgresBackend, PostgresStore) {
    let (backend, mut store) = with_staging(server).await;
    let (session, call, run) = ("s".into(), "c".into(), "r".into());
    done(&mut store, Operation::RegisterCall { session, call, run, deadline: 1 }).await;
    (backend, store)
}

async fn a_transaction_that_fails_as_it_commits_is_not_applied(server: Server) {
    transaction_fails(server, true, "at the commit").await;
}

async fn a_transaction_of_which_a_statement_fails_is_not_applied(server: Server) {
    transaction_fails(server, false, "at statement 3").await;
}

async fn transaction_fails(server: Server, deferred: bool, at: &str) {
    let (backend, mut store) = with_call(&server).await;
    fail(&server, backend.schema(), "calls", deferred).await;
    let expire = Operation::ExpireCalls { now: 1 };
    let completion = execute(&mut store, expire.clone()).await;
    let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
    assert!(failure.reason.0.contains(at), "{failure}");
    drop_trigger(&server, backend.schema()).await;
    // No transaction is left, neither here nor in anybody's way.
    done(&mut store, append("s", vec![message("m", 1)])).await;
    match done(&mut handle(&backend).await, expire).await {
        Reply::CallsExpired(calls) => assert_eq!(calls.len(), 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(messages(&mut handle(&backend).await, "s").await.len(), 1);
    remove(&server, backend).await;
}

async fn a_handle_that_connects_again_sees_that_another_schema_took_the_place(server: Server) {
    let (backend, mut store) = with_staging(&server).await;
    let schema = backend.schema().to_owned();
    cut(&server, &schema).await;
    let replace = format!(
        "DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema};
         CREATE TABLE {schema}.sessions AS SELECT 's'::text AS session"
    );
    server.execute_raw(&replace).await;
    // The first finds the connection broken, the second makes another.
    for _ in 0..3 {
        let completion = execute(&mut store, delete("s")).await;
        assert!(matches!(completion, Completion::NotApplied(_)), "{completion:?}");
    }
    let rows = format!("SELECT count(*) FROM {schema}.sessions");
    assert_eq!(number(&mut server.raw().await, &rows).await, 1);
    server.execute_raw(&format!("DROP SCHEMA {schema} CASCADE")).await;
}

async fn a_handle_that_connects_again_sees_that_the_schema_is_gone(server: Server) {
    let (mut backend, mut store) = with_staging(&server).await;
    let schema = backend.schema().to_owned();
    cut(&server, &schema).await;
    server.execute_raw(&format!("DROP SCHEMA {schema} CASCADE")).await;
    for _ in 0..3 {
        let completion = execute(&mut store, delete("s")).await;
        assert!(matches!(completion, Completion::NotApplied(_)), "{completion:?}");
    }
    assert!(backend.reopen().await.is_err());
    // What is gone is removed.
    backend.remove().await.expect("nothing to remove");
}

async fn an_audit_connects_again(server: Server) {
    let (backend, _store) = with_staging(&server).await;
    cut(&server, backend.schema()).await;
    let broken = backend.audit(&["s".into()]).await;
    let audit = backend.audit(&["s".into()]).await.expect("an audit");
    assert!(broken.is_err() && audit.len() == 1, "{broken:?}");
    remove(&server, backend).await;
}

async fn a_trace_holds_the_statements_of_an_operation_in_order(server: Server) {
    let (backend, mut store) = with_call(&server).await;
    store.record_trace();
    done(&mut store, promotion("t", 1)).await;
    done(&mut store, Operation::ExpireCalls { now: 1 }).await;
    let trace = store.take_trace();
    let words: Vec<&str> =
        trace.iter().filter_map(|traced| traced.sql.as_str().split_whitespace().next()).collect();
    let sweep = ["SELECT", "BEGIN", "SELECT", "UPDATE", "COMMIT"];
    assert_eq!(words, [&["SELECT", "WITH"][..], &sweep[..]].concat());
    let bare = trace.iter().filter(|traced| traced.arguments.is_none()).count();
    assert_eq!(bare, 2, "BEGIN and COMMIT");
    remove(&server, backend).await;
}

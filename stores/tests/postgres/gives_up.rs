//! The server gives up: a wait, a statement, an idle transaction, one that is in another's way.
//! Each is provoked for real; it is told as what it is, and the next operation works.

use std::sync::Mutex;
use std::time::Duration;

use stagefault_models::{Cause, Completion, Failure, Operation, Point, Scope, Store};
use stagefault_stores::postgres::{PostgresBackend, PostgresOptions, PostgresStore};

use crate::provoking::*;
use crate::shared::hold::Once;
use crate::support::*;

tests![
    a_wait_for_a_lock_that_the_server_gives_up_is_contention,
    a_statement_that_the_server_gives_up_is_late,
    an_idle_transaction_that_the_server_ends_is_a_lost_connection,
    of_two_that_wait_for_each_other_the_one_that_the_server_fails_is_not_applied,
    what_the_server_cannot_serialize_is_not_applied,
    a_database_that_serializes_by_default_fails_nothing,
];

/// The server gives up an eighth of it, or two, before the store does: half a second, which a
/// busy machine has to spare.
const DEADLINE: Duration = Duration::from_secs(4);

const EXPIRE: Operation = Operation::ExpireCalls { now: 1 };

fn promotion() -> Operation {
    promote("s", "t", 1, vec![set("k", 1)], vec![message("m", 1)])
}

/// A session with something for a promote to do, and one for a sweep.
async fn with_session(backend: &PostgresBackend) -> PostgresStore {
    let mut store = handle(backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, stage("s", "t", "c", vec![set("staged", 1)])).await;
    done(&mut store, create("u")).await;
    let (session, call, run) = ("u".into(), "c".into(), "r".into());
    done(&mut store, Operation::RegisterCall { session, call, run, deadline: 1 }).await;
    store
}

/// The same on the server's schema of this name, by other options.
async fn opened(options: &PostgresOptions, schema: &str) -> PostgresBackend {
    PostgresBackend::open(options, schema).await.expect("the schema")
}

async fn not_applied(store: &mut PostgresStore, operation: &Operation) -> Failure {
    let scope = Scope { deadline: DEADLINE, ..Scope::default() };
    match store.execute(operation, &scope).await {
        Completion::NotApplied(failure) => failure,
        other => panic!("{operation:?}: {other:?}"),
    }
}

/// What failed for a while works on the same handles when that is over.
async fn work(one: &mut PostgresStore, two: &mut PostgresStore) {
    done(one, promotion()).await;
    done(two, EXPIRE).await;
    assert_eq!(snapshot(two, "s").await.version, 2);
}

async fn a_wait_for_a_lock_that_the_server_gives_up_is_contention(server: Server) {
    let backend = server.schema().await;
    let (mut one, mut two) = (with_session(&backend).await, handle(&backend).await);
    let mut holder = server.raw().await;
    let hold = format!("BEGIN; SELECT FROM {}.sessions FOR UPDATE", backend.schema());
    raw_on(&mut holder, &hold).await;
    let promotion = promotion();
    let failures = tokio::join!(not_applied(&mut one, &promotion), not_applied(&mut two, &EXPIRE));
    assert_eq!((failures.0.cause, failures.1.cause), (Cause::Contention, Cause::Contention));
    raw_on(&mut holder, "ROLLBACK").await;
    work(&mut one, &mut two).await;
    remove(&server, backend).await;
}

async fn a_statement_that_the_server_gives_up_is_late(server: Server) {
    let backend = server.schema().await;
    let (mut one, mut two) = (with_session(&backend).await, handle(&backend).await);
    let schema = backend.schema();
    trigger(&server, schema, "messages", "", SLEEP).await;
    let also = format!(
        "CREATE CONSTRAINT TRIGGER work AFTER UPDATE ON {schema}.calls
             FOR EACH ROW EXECUTE FUNCTION {schema}.work()"
    );
    server.execute_raw(&also).await;
    let promotion = promotion();
    let failures = tokio::join!(not_applied(&mut one, &promotion), not_applied(&mut two, &EXPIRE));
    for failure in [failures.0, failures.1] {
        assert_eq!(failure.cause, Cause::Deadline);
        assert!(failure.reason.0.contains("the statement took too long"), "{failure}");
    }
    drop_trigger(&server, schema).await;
    work(&mut one, &mut two).await;
    remove(&server, backend).await;
}

async fn an_idle_transaction_that_the_server_ends_is_a_lost_connection(server: Server) {
    let backend = server.schema().await;
    with_session(&backend).await;
    let hurried = server.options_with("idle_in_transaction_session_timeout", "200ms");
    let hurried = opened(&hurried, backend.schema()).await;
    for point in [Point::Statement(2), Point::Statement(3), Point::BeforeCommit] {
        let (mut store, process) = handle_and_process(&server, &hurried).await;
        let hook = Once::at(point, process.ends(&server));
        let scope = Scope { hook: Some(&hook), ..Scope::default() };
        let failure = match store.execute(&EXPIRE, &scope).await {
            Completion::NotApplied(failure) => failure,
            // The COMMIT may still reach a server that has just ended the connection.
            Completion::Unknown(failure) if point >= Point::Statement(3) => failure,
            other => panic!("{point:?}: {other:?}"),
        };
        assert_eq!(failure.cause, Cause::Connection, "{failure}");
        done(&mut store, append("s", vec![message(&format!("{point:?}"), 1)])).await;
    }
    let mut store = handle(&backend).await;
    work(&mut handle(&backend).await, &mut store).await;
    assert_eq!(messages(&mut store, "s").await.len(), 4);
    remove(&server, backend).await;
}

/// The sweep has the session, and comes for the call; another transaction has the call, and
/// waits for the session, patient enough not to be the one that looks for a deadlock.
async fn of_two_that_wait_for_each_other_the_one_that_the_server_fails_is_not_applied(
    server: Server,
) {
    let backend = server.schema().await;
    with_session(&backend).await;
    let schema = backend.schema().to_owned();
    let soon = opened(&server.options_with("deadlock_timeout", "10ms"), &schema).await;
    let (mut one, mut two) = (handle(&soon).await, handle(&soon).await);
    let mut holder = server.raw().await;
    let hold = format!(
        "SET search_path = {schema}; SET application_name = 'holder of {schema}';
         SET deadlock_timeout = '1h'; BEGIN; SELECT FROM calls FOR UPDATE"
    );
    raw_on(&mut holder, &hold).await;
    let other = Mutex::new(None);
    let hook = Once::at(Point::Statement(2), async {
        let waits = tokio::spawn(async move {
            raw_on(&mut holder, "SELECT FROM sessions FOR UPDATE; ROLLBACK").await;
        });
        *other.lock().expect("nobody panicked") = Some(waits);
        let name = format!("holder of {schema}");
        becomes_of(&server, &name, "wait_event_type = 'Lock'", 1).await;
    });
    let scope = Scope { hook: Some(&hook), ..Scope::default() };
    let completion = one.execute(&EXPIRE, &scope).await;
    let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
    assert_eq!(failure.cause, Cause::Contention);
    assert!(failure.reason.0.contains("deadlock"), "{failure}");
    let other = other.lock().expect("nobody panicked").take().expect("it came to the point");
    other.await.expect("the other one gets on");
    work(&mut two, &mut one).await;
    drop(hook);
    remove(&server, backend).await;
}

/// While the operation waits for the session, another transaction changes it and commits.
async fn changed_meanwhile(
    server: &Server,
    backend: &PostgresBackend,
    store: &mut PostgresStore,
    operation: &Operation,
) -> Completion {
    let schema = backend.schema();
    let mut holder = server.raw().await;
    let change = format!("BEGIN; UPDATE {schema}.sessions SET interrupt = NOT interrupt");
    raw_on(&mut holder, &change).await;
    let scope = Scope::default();
    let (completion, ()) = tokio::join!(store.execute(operation, &scope), async {
        becomes_of(server, schema, "wait_event_type = 'Lock'", 1).await;
        raw_on(&mut holder, "COMMIT").await;
    });
    completion
}

async fn what_the_server_cannot_serialize_is_not_applied(server: Server) {
    let backend = server.schema().await;
    with_session(&backend).await;
    let serializable = opened(&server.options().serializable(), backend.schema()).await;
    let (mut one, mut two) = (handle(&serializable).await, handle(&serializable).await);
    for (store, operation) in [(&mut one, promotion()), (&mut two, EXPIRE)] {
        let completion = changed_meanwhile(&server, &backend, store, &operation).await;
        let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
        assert_eq!(failure.cause, Cause::Contention);
        assert!(failure.reason.0.contains("could not serialize"), "{failure}");
    }
    work(&mut one, &mut two).await;
    remove(&server, backend).await;
}

/// The store's own isolation counts, at which whoever has waited looks again.
async fn a_database_that_serializes_by_default_fails_nothing(server: Server) {
    let other = server.database("serializes").await;
    other
        .execute_raw("ALTER DATABASE serializes SET default_transaction_isolation = 'serializable'")
        .await;
    let backend = other.schema().await;
    let (mut one, mut two) = (with_session(&backend).await, handle(&backend).await);
    for (store, operation) in [(&mut one, promotion()), (&mut two, EXPIRE)] {
        let completion = changed_meanwhile(&other, &backend, store, &operation).await;
        assert!(matches!(completion, Completion::Done(_)), "{completion:?}");
    }
    remove(&other, backend).await;
    server.execute_raw("DROP DATABASE serializes WITH (FORCE)").await;
}

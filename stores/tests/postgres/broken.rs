//! A connection or a server that breaks: what was acknowledged stays, an error is no answer,
//! and the next operation works. Each test is done to the store as it is and with a flaw planted.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use stagefault_chaos::servers::{Durability, Options, PostgresServer};
use stagefault_models::{Cause, Completion, Refusal};
use stagefault_stores::flaws::{Flaw, Flaws};
use stagefault_stores::postgres::PostgresBackend;

use crate::provoking::*;
use crate::support::*;

tests![
    a_read_on_a_connection_that_was_cut_is_not_applied_and_the_next_is_answered,
    what_was_acknowledged_before_a_crash_is_there;
    a_connection_that_broke_and_is_kept_fails_for_ever,
    an_error_taken_for_an_empty_result_denies_what_is_there,
    a_commit_that_is_not_flushed_is_lost_in_a_crash,
];

/// What becomes of some loads after the connection was cut.
async fn loads_after_a_cut(server: Server, flaws: Flaws) -> Vec<Completion> {
    let backend = server.schema_with(flaws).await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    cut(&server, backend.schema()).await;
    let mut loaded = Vec::new();
    for _ in 0..3 {
        loaded.push(execute(&mut store, load("s")).await);
    }
    remove(&server, backend).await;
    loaded
}

async fn a_read_on_a_connection_that_was_cut_is_not_applied_and_the_next_is_answered(
    server: Server,
) {
    let loaded = loads_after_a_cut(server, Flaws::none()).await;
    let [Completion::NotApplied(failure), Completion::Done(_), Completion::Done(_)] = &loaded[..]
    else {
        panic!("{loaded:?}")
    };
    assert_eq!(failure.cause, Cause::Connection);
}

async fn a_connection_that_broke_and_is_kept_fails_for_ever(server: Server) {
    let loaded = loads_after_a_cut(server, planted(Flaw::BrokenLinkKept)).await;
    let none = loaded.iter().all(|completion| matches!(completion, Completion::NotApplied(_)));
    assert!(none, "{loaded:?}");
}

async fn an_error_taken_for_an_empty_result_denies_what_is_there(server: Server) {
    let loaded = loads_after_a_cut(server, planted(Flaw::ErrorRefused)).await;
    assert_eq!(loaded[0], Completion::Refused(Refusal::SessionNotFound));
    assert!(matches!(loaded[1], Completion::Done(_)), "{loaded:?}");
}

/// The version of a session that was promoted, as was acknowledged, before the server crashed.
///
/// The process that writes what commits leave to it is stopped, and then killed: the server
/// takes that for a crash, drops its memory and recovers from what is written.
async fn version_after_a_crash(flaws: Flaws) -> u64 {
    let settings = [("autovacuum", "off"), ("checkpoint_timeout", "1h")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let durability = Durability::SurvivesKill;
    let options = Options { settings, durability, ..Options::default() };
    let started = tokio::task::spawn_blocking(|| PostgresServer::start(options));
    let own = started.await.expect("no panic").expect("a server");
    let server = Server::at(own.url());

    let backend = server.schema().await;
    done(&mut handle(&backend).await, create("s")).await;
    let writer = Process::of_type(&server, "walwriter").await;
    writer.signal(Signal::STOP);
    let flawed = PostgresBackend::open(&server.options(), backend.schema()).await;
    let mut store = handle(&flawed.expect("the schema").with_flaws(flaws)).await;
    let witness = server.raw().await;
    done(&mut store, promote("s", "t", 1, vec![], vec![])).await;
    writer.signal(Signal::KILL);
    recovers(&server, witness).await;
    let backend = PostgresBackend::open(&server.options(), backend.schema()).await;
    let version = snapshot(&mut handle(&backend.expect("the schema")).await, "s").await.version;
    tokio::task::spawn_blocking(move || drop(own)).await.expect("no panic");
    version
}

/// Waits until the server has ended this connection, and then until it takes another.
async fn recovers(server: &Server, mut witness: PgConnection) {
    let started = Instant::now();
    while witness.ping().await.is_ok() || PgConnection::connect(server.url()).await.is_err() {
        assert!(started.elapsed() < Duration::from_secs(20), "it does not recover");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn what_was_acknowledged_before_a_crash_is_there(_: Server) {
    assert_eq!(version_after_a_crash(Flaws::none()).await, 2);
}

async fn a_commit_that_is_not_flushed_is_lost_in_a_crash(_: Server) {
    assert_eq!(version_after_a_crash(planted(Flaw::CommitNotFlushed)).await, 1);
}

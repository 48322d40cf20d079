//! What is done to a server and its connections, at a moment that is seen and not guessed.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::Poll;

use rustix::process::{Pid, Signal, kill_process};
use stagefault_models::{Completion, Hook, Operation, Point, Scope, Store};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::{PostgresBackend, PostgresStore};

use crate::shared::hold::Once;
use crate::support::*;

/// Waits until so many of the schema's connections are such.
pub async fn becomes_of(server: &Server, schema: &str, such: &str, wanted: i64) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{schema}' AND {such}"
    );
    becomes(&mut server.raw().await, &sql, wanted).await;
}

/// Ends all connections of the schema, and waits until the server has.
pub async fn cut(server: &Server, schema: &str) {
    cut_those(server, schema, "true").await;
}

/// Ends the schema's connections that are such, and waits until the server has.
pub async fn cut_those(server: &Server, schema: &str, such: &str) {
    let mut connection = server.raw().await;
    let sql = format!(
        "SELECT pid::bigint FROM pg_stat_activity WHERE application_name = '{schema}' AND {such}"
    );
    for pid in numbers(&mut connection, &sql).await {
        let ends = format!("SELECT count(*) FROM (SELECT pg_terminate_backend({pid})) AS ended");
        number(&mut connection, &ends).await;
        Process(pid).ends(server).await;
    }
}

/// A handle, and the server's process that works for it.
pub async fn handle_and_process(
    server: &Server,
    backend: &PostgresBackend,
) -> (PostgresStore, Process) {
    let mut connection = server.raw().await;
    let sql = format!(
        "SELECT pid::bigint FROM pg_stat_activity WHERE application_name = '{}'",
        backend.schema()
    );
    let before = numbers(&mut connection, &sql).await;
    let store = handle(backend).await;
    let mut pids = numbers(&mut connection, &sql).await;
    pids.retain(|pid| !before.contains(pid));
    match pids[..] {
        [pid] => (store, Process(pid)),
        _ => panic!("more than one connection was made: {pids:?}"),
    }
}

/// One of the server's processes.
#[derive(Clone, Copy)]
pub struct Process(i64);

impl Process {
    /// The only one of this type, by PostgreSQL's name for it.
    pub async fn of_type(server: &Server, name: &str) -> Self {
        let sql = format!("SELECT pid::bigint FROM pg_stat_activity WHERE backend_type = '{name}'");
        Process(number(&mut server.raw().await, &sql).await)
    }

    /// Waits until it has ended.
    pub async fn ends(self, server: &Server) {
        let left = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {}", self.0);
        becomes(&mut server.raw().await, &left, 0).await;
    }

    pub fn signal(self, signal: Signal) {
        let pid = i32::try_from(self.0).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("it is there");
    }
}

/// Drops the operation when it waits for the answer to what it sends after the point. Its
/// process is stopped meanwhile, for otherwise the answer might be there first.
pub async fn drop_after(
    store: &mut PostgresStore,
    process: Process,
    operation: &Operation,
    point: Point,
) {
    let stopped = Mutex::new(false);
    let is_stopped = || *stopped.lock().expect("nobody panicked");
    let stop = async {
        process.signal(Signal::STOP);
        *stopped.lock().expect("nobody panicked") = true;
    };
    let hook = Once::at(point, stop);
    let scope = Scope { hook: Some(&hook), ..Scope::default() };
    {
        let mut execution = pin!(store.execute(operation, &scope));
        let waits = poll_fn(|context| match execution.as_mut().poll(context) {
            Poll::Ready(completion) => panic!("it did not wait: {completion:?}"),
            Poll::Pending if is_stopped() => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        });
        waits.await;
    }
    process.signal(Signal::CONT);
}

/// Executes the operation where a commit waits for a standby that is not there, and ends the
/// connection meanwhile: the server has committed, and its reply never comes.
pub async fn with_the_reply_lost(
    server: &Server,
    schema: &str,
    flaws: Flaws,
    operation: Operation,
) -> Completion {
    let waiting = server.options_with("synchronous_commit", "on");
    let backend = PostgresBackend::open(&waiting, schema).await.expect("the schema");
    let mut store = handle(&backend.with_flaws(flaws)).await;
    let (completion, ()) = tokio::join!(execute(&mut store, operation), async {
        becomes_of(server, schema, "wait_event = 'SyncRep'", 1).await;
        cut_those(server, schema, "wait_event = 'SyncRep'").await;
    });
    completion
}

/// Does something when the operation comes to the point of this number, from 0.
pub struct AtNumber<F> {
    number: usize,
    reached: Mutex<usize>,
    work: F,
}

impl<F> AtNumber<F> {
    pub fn new(number: usize, work: F) -> Self {
        AtNumber { number, reached: Mutex::new(0), work }
    }

    /// Whether the operation came so far.
    pub fn fired(&self) -> bool {
        *self.reached.lock().expect("nobody panicked") > self.number
    }
}

impl<W: Future<Output = ()> + Send, F: Fn() -> W + Sync + Send> Hook for AtNumber<F> {
    fn reached(&self, _: Point) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let number = {
            let mut reached = self.reached.lock().expect("nobody panicked");
            *reached += 1;
            *reached - 1
        };
        Box::pin(async move {
            if number == self.number {
                (self.work)().await;
            }
        })
    }
}

pub const SLEEP: &str = "PERFORM pg_sleep(20); RETURN NULL";
const FAIL: &str = "RAISE EXCEPTION ''no''";

/// Makes the server do something after each write of a table, or only as it commits.
pub async fn trigger(server: &Server, schema: &str, table: &str, when: &str, work: &str) {
    let sql = format!(
        "CREATE FUNCTION {schema}.work() RETURNS trigger LANGUAGE plpgsql
             AS 'BEGIN {work}; END';
         CREATE CONSTRAINT TRIGGER work AFTER INSERT OR UPDATE ON {schema}.{table}
             {when} FOR EACH ROW EXECUTE FUNCTION {schema}.work()"
    );
    server.execute_raw(&sql).await;
}

pub async fn drop_trigger(server: &Server, schema: &str) {
    server.execute_raw(&format!("DROP FUNCTION {schema}.work CASCADE")).await;
}

/// Makes the server fail each write of a table: at once, or only as it commits.
pub async fn fail(server: &Server, schema: &str, table: &str, deferred: bool) {
    let when = if deferred { "DEFERRABLE INITIALLY DEFERRED" } else { "" };
    trigger(server, schema, table, when, FAIL).await;
}

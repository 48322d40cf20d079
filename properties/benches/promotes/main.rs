//! How many tool calls a second many writers get staged and promoted on PostgreSQL.
//!
//! Eight writers on sixteen sessions, each pair a stage and then a promote with a message,
//! by the postgres store and, beside it on the same server, by pgbench, which sends the
//! statements of the interactive transactions (`interactive.sql`): what most stores do, in a
//! client that costs next to nothing. The writers share the sessions, or have two each to
//! themselves; without fsync, and with it. The two sides take turns, so that what else the
//! machine is at meets both, and what counts is how they compare in a turn.
//!
//! Where sessions are shared the store has more to do: its writers name the version that
//! they expect, as the contract has it, and one that comes too late is refused, looks, and
//! promotes again. pgbench's script expects nothing, for it reads the version under its lock.
//!
//! Run it with `cargo bench -p stagefault-benches --bench promotes`.

#[path = "../unplanted.rs"]
mod unplanted;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stagefault_chaos::servers::{Durability, Installation, Options, PostgresServer};
use stagefault_models::{
    Backend, Completion, Message, Namespaces, Operation, Refusal, Reply, Scope, Store,
};
use stagefault_properties::script::{create, message, promote_with, set, stage};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::{
    PostgresBackend, PostgresNamespaces, PostgresOptions, PostgresStore,
};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// As in the `stagefault` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WRITERS: u64 = 8;
/// Named in `interactive.sql` too.
const SESSIONS: u64 = 16;
const TURN: Duration = Duration::from_secs(3);
const TURNS: usize = 5;

/// Who works on which sessions.
#[derive(Clone, Copy, PartialEq)]
enum Sessions {
    /// Everybody on all of them.
    Shared,
    /// Each writer on its own.
    Own,
}

fn main() {
    unplanted::check();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for (fsync, durability) in
        [("without fsync", Durability::Relaxed), ("with fsync", Durability::Full)]
    {
        let server = PostgresServer::start(Options { durability, ..Options::default() });
        let server = server.expect("a server");
        for (name, sessions) in [("shared", Sessions::Shared), ("own", Sessions::Own)] {
            let (ours, interactive, times) = compared(&runtime, &server, sessions);
            println!(
                "{fsync}, {name} sessions: {ours} pairs of stage and promote a second by the \
                 store, {interactive} by pgbench with interactive transactions: {:.2} times as \
                 many ({:.2} to {:.2} in {TURNS} turns)",
                times[TURNS / 2],
                times[0],
                times[TURNS - 1],
            );
        }
    }
}

/// The rates of the store and of pgbench, each in the middle of its turns', and how many
/// times as many the store did in each turn, in order.
fn compared(
    runtime: &Runtime,
    server: &PostgresServer,
    sessions: Sessions,
) -> (u64, u64, [f64; TURNS]) {
    let (mut ours, mut interactive, mut times) = ([0; TURNS], [0; TURNS], [0.0; TURNS]);
    for turn in 0..TURNS {
        ours[turn] = runtime.block_on(pairs_by_the_store(server, sessions));
        interactive[turn] = pairs_by_pgbench(runtime, server, sessions);
        times[turn] = ours[turn] as f64 / interactive[turn] as f64;
    }
    ours.sort_unstable();
    interactive.sort_unstable();
    times.sort_by(f64::total_cmp);
    (ours[TURNS / 2], interactive[TURNS / 2], times)
}

/// A schema with the sessions.
async fn prepared(server: &PostgresServer) -> PostgresBackend {
    let options = PostgresOptions::from_url(&server.url()).expect("the server's URL");
    let namespaces = PostgresNamespaces { options, flaws: Flaws::none() };
    let backend = namespaces.fresh().await.expect("a schema");
    let mut store = backend.store().await.expect("a handle");
    for session in 1..=SESSIONS {
        let created = store.execute(&create(&session.to_string()), &Scope::default()).await;
        assert!(matches!(created, Completion::Done(_)), "{created:?}");
    }
    backend
}

/// How many in a second.
async fn pairs_by_the_store(server: &PostgresServer, sessions: Sessions) -> u64 {
    let backend = prepared(server).await;
    let versions = Arc::new([const { AtomicU64::new(1) }; SESSIONS as usize]);
    let mut ready = Vec::new();
    for number in 0..WRITERS {
        let store = backend.store().await.expect("a handle");
        ready.push(Writer { store, number, sessions, versions: versions.clone() });
    }
    let started = Instant::now();
    let mut writers = JoinSet::new();
    for writer in ready {
        writers.spawn(writer.work_until(started + TURN));
    }
    let pairs: u64 = writers.join_all().await.into_iter().sum();
    let rate = pairs as f64 / started.elapsed().as_secs_f64();
    backend.remove().await.expect("it is removed");
    rate as u64
}

struct Writer {
    store: PostgresStore,
    number: u64,
    sessions: Sessions,
    /// The versions of the sessions, as far as anybody knows.
    versions: Arc<[AtomicU64; SESSIONS as usize]>,
}

impl Writer {
    async fn work_until(mut self, end: Instant) -> u64 {
        let mut pairs = 0;
        while Instant::now() < end {
            self.pair(pairs).await;
            pairs += 1;
        }
        pairs
    }

    async fn pair(&mut self, pair: u64) {
        let index = match self.sessions {
            Sessions::Shared => rand::random_range(0..SESSIONS),
            Sessions::Own => 2 * self.number + rand::random_range(0..2),
        } as usize;
        let (session, step) = ((index + 1).to_string(), format!("{}-{pair}", self.number));
        let staged = self.execute(&stage(&session, &step, "c", 1, [set("k", 1)])).await;
        assert!(matches!(staged, Completion::Done(Reply::Staged)), "{staged:?}");
        loop {
            let expected = self.versions[index].load(Ordering::Relaxed);
            let messages: [Message; 1] = [message(&step, 1)];
            let promote = promote_with(&session, &step, expected, [], messages);
            let (current, promoted) = match self.execute(&promote).await {
                Completion::Done(Reply::Promoted { version, applied: 1, .. }) => (version, true),
                Completion::Refused(Refusal::StaleState { current, .. }) => (current, false),
                other => panic!("{other:?}"),
            };
            self.versions[index].fetch_max(current, Ordering::Relaxed);
            if promoted {
                return;
            }
        }
    }

    async fn execute(&mut self, operation: &Operation) -> Completion {
        self.store.execute(operation, &Scope::default()).await
    }
}

/// The same by pgbench, which tells the rate itself.
fn pairs_by_pgbench(runtime: &Runtime, server: &PostgresServer, sessions: Sessions) -> u64 {
    let backend = runtime.block_on(prepared(server));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("promotes/interactive.sql");
    let pgbench = Installation::find().expect("a server").folder.join("pgbench");
    let mut command = Command::new(pgbench);
    command.args(["--no-vacuum", "--protocol=prepared", "--jobs=2"]);
    command.arg(format!("--client={WRITERS}")).arg(format!("--time={}", TURN.as_secs()));
    command.arg(format!("--define=shared={}", u8::from(sessions == Sessions::Shared)));
    command.arg("--file").arg(script).arg(server.url());
    command.env("PGOPTIONS", format!("-c search_path={} -c jit=off", backend.schema()));
    let output = command.output().expect("pgbench");
    runtime.block_on(backend.remove()).expect("it is removed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split('.').next());
    let failed = || panic!("{text}{}", String::from_utf8_lossy(&output.stderr));
    rate.and_then(|rate| rate.parse().ok()).unwrap_or_else(failed)
}

//! The lane on PostgreSQL, beside the same statements sent raw, on one throw-away server.
//!
//! As for SQLite (`sqlite.rs`), the lane runs once with every handle tracing. A write is
//! guarded by a revision, which follows from a sequence at the session's creation: so the
//! sequence is set back to where it was before an episode is sent again, and with it every
//! guard holds as it did, which is checked: a write whose guard fails would cost too little.

use std::cell::RefCell;

use criterion::{BatchSize, Criterion, Throughput};
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnection, PgRow};
use stagefault_chaos::servers::{Options, PostgresServer};
use stagefault_models::Namespaces;
use stagefault_properties::profile::Profile;
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::{PostgresBackend, PostgresNamespaces, PostgresOptions, Traced};

use crate::episodes::{Episodes, statements};
use crate::tracing::Tracing;
use crate::tracing::sending::send;

/// How many different episodes are sent raw, over and over.
const TRACED: usize = 20;

pub fn bench(criterion: &mut Criterion) {
    let server = match PostgresServer::start(Options::default()) {
        Ok(server) => server,
        Err(error) => return println!("postgres: not measured: {error}"),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let options = PostgresOptions::from_url(&server.url()).expect("the server's URL");
    let namespaces = PostgresNamespaces { options, flaws: Flaws::none() };
    let fresh = || runtime.block_on(namespaces.fresh()).expect("a schema");
    let mut group = criterion.benchmark_group("postgres");
    group.throughput(Throughput::Elements(u64::from(Profile::standard().operations)));
    group.sample_size(40);

    // Criterion calls these for every sample: what they work on is kept from one to the next,
    // with its connections warm and their statements prepared.
    let mut lane = None;
    group.bench_function("lane", |bencher| {
        let lane = lane.get_or_insert_with(|| runtime.block_on(Episodes::on(fresh())));
        bencher.iter(|| runtime.block_on(lane.next()));
    });

    let mut raw = None;
    group.bench_function("raw", |bencher| {
        let raw = raw.get_or_insert_with(|| runtime.block_on(Raw::of(fresh(), fresh())));
        let raw = RefCell::new(raw);
        let set_back = || runtime.block_on(raw.borrow_mut().set_back());
        let send = |()| runtime.block_on(raw.borrow_mut().send());
        bencher.iter_batched(set_back, send, BatchSize::PerIteration);
    });
    group.finish();
}

/// The statements of an episode, each with the number of its connection.
struct Trace {
    /// Where the sequence of the revisions was when it began.
    births: i64,
    statements: Vec<(usize, Traced)>,
}

/// Connections of a lane, without the lane, and what was sent on them.
struct Raw {
    connections: Vec<PgConnection>,
    traces: Vec<Trace>,
    /// Which of them comes next.
    next: usize,
    /// Keeps the schema.
    _backend: PostgresBackend,
}

impl Raw {
    /// The statements of a lane on the one schema, for the other one. Sent once, they are
    /// seen to do the same again.
    async fn of(traced: PostgresBackend, backend: PostgresBackend) -> Self {
        let mut connections = Vec::new();
        for _ in 0..Profile::standard().writers {
            let connection = backend.connect_options().connect().await;
            connections.push(connection.expect("a connection"));
        }
        let traces = traces(traced).await;
        let mut raw = Raw { connections, traces, next: 0, _backend: backend };
        for _ in 0..TRACED {
            raw.set_back().await;
            raw.check().await;
        }
        raw
    }

    /// Makes ready for the next episode.
    async fn set_back(&mut self) {
        let births = self.traces[self.next].births;
        let set = sqlx::query("SELECT setval('births', $1, false)").bind(births);
        set.execute(&mut self.connections[0]).await.expect("our sequence");
    }

    /// Sends the next episode.
    async fn send(&mut self) {
        for (connection, traced) in &self.traces[self.next].statements {
            let rows = answer(&mut self.connections[*connection], traced).await.0;
            std::hint::black_box(rows);
        }
        self.next = (self.next + 1) % TRACED;
    }

    /// Sends the next episode, and sees that every guard holds.
    async fn check(&mut self) {
        for (connection, traced) in &self.traces[self.next].statements {
            let changes = answer(&mut self.connections[*connection], traced).await.1;
            let sql = traced.sql.as_str();
            assert!(changes > 0 || !sql.contains("revision = $"), "the guard failed: {sql}");
        }
        self.next = (self.next + 1) % TRACED;
    }
}

/// The rows of a statement that went well before, and how many it changed.
async fn answer(connection: &mut PgConnection, traced: &Traced) -> (Vec<PgRow>, u64) {
    send(connection, traced).await.expect("a statement that went well before")
}

async fn traces(backend: PostgresBackend) -> Vec<Trace> {
    let mut watcher = backend.connect_options().connect().await.expect("a connection");
    let tracing = Tracing::of(backend);
    let log = tracing.log.clone();
    let mut episodes = Episodes::on(tracing).await;
    let mut traces = Vec::new();
    for _ in 0..TRACED {
        // A sequence tells its last value, and whether that was given to anybody yet.
        let next = "SELECT last_value + CASE WHEN is_called THEN 4294967296 ELSE 0 END FROM births";
        let births = sqlx::query_scalar(next).fetch_one(&mut watcher).await;
        episodes.next().await;
        let (births, statements) = (births.expect("our sequence"), statements(log.take()));
        traces.push(Trace { births, statements });
    }
    traces
}

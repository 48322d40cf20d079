//! The lane on a SQLite file, beside the same statements sent raw.
//!
//! The lane runs once with every handle tracing, which gives the statements of each
//! episode in order and by connection. Each episode ends as it began, with no session, so
//! its statements can be sent again and again.

use std::path::Path;

use criterion::{Criterion, Throughput};
use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions, Executor};
use stagefault_properties::profile::Profile;
use stagefault_stores::sqlite::{SqliteBackend, Traced};
use tokio::runtime::Runtime;

use crate::episodes::{Episodes, statements};
use crate::tracing::Tracing;

/// How many different episodes are sent raw, over and over.
const TRACED: usize = 20;

pub fn bench(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let mut group = criterion.benchmark_group("sqlite");
    group.throughput(Throughput::Elements(u64::from(Profile::standard().operations)));
    group.sample_size(40);

    group.bench_function("lane", |bencher| {
        let backend = open(&runtime, &folder.path().join("lane.db"));
        let mut episodes = runtime.block_on(Episodes::on(backend));
        bencher.iter(|| runtime.block_on(episodes.next()));
    });

    group.bench_function("raw", |bencher| {
        let traces = traces(&runtime, &folder.path().join("traced.db"));
        let path = folder.path().join("raw.db");
        let backend = open(&runtime, &path);
        let mut connections: Vec<SqliteConnection> = (0..Profile::standard().writers)
            .map(|_| runtime.block_on(backend.connect_options().connect()).expect("a connection"))
            .collect();
        let mut next = traces.iter().cycle();
        bencher.iter(|| {
            let trace = next.next().into_iter().flatten();
            runtime.block_on(send(&mut connections, trace));
        });
    });
    group.finish();
}

fn open(runtime: &Runtime, path: &Path) -> SqliteBackend {
    runtime.block_on(SqliteBackend::open(path)).expect("a SQLite file")
}

async fn send(connections: &mut [SqliteConnection], trace: impl Iterator<Item = &(usize, Traced)>) {
    for (connection, Traced { sql, arguments }) in trace {
        let query = sqlx::query_with(sql.clone(), arguments.clone());
        let rows = connections[*connection].fetch_all(query).await;
        std::hint::black_box(rows.expect("a statement that went well before"));
    }
}

/// The statements of some episodes, each with the number of its connection.
fn traces(runtime: &Runtime, path: &Path) -> Vec<Vec<(usize, Traced)>> {
    let tracing = Tracing::of(open(runtime, path));
    let log = tracing.log.clone();
    let mut episodes = runtime.block_on(Episodes::on(tracing));
    let mut next = || {
        runtime.block_on(episodes.next());
        statements(log.take())
    };
    (0..TRACED).map(|_| next()).collect()
}

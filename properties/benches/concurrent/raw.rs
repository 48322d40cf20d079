//! The lane on PostgreSQL beside a raw client: eight connections that send the very same
//! statements, with nothing generated, recorded, audited or judged.
//!
//! The lane runs some episodes once with every handle tracing, which tells what each writer
//! sent. The raw client sends it again on another schema, each writer's statements in their
//! order on a connection of its own, and all connections at once. As in the lane, one episode
//! begins when the other is over, and ends with the reads and deletions of the first writer.
//!
//! A write is guarded by the revision that its session had in the lane, and sent in another
//! order hardly any would meet it, and write. So of a write that was carried out in the lane
//! the guard is sent with a condition that holds; one that was in vain is sent as it was. How
//! many of the former do write, and how many statements fail, is counted.

use std::error::Error;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, SqlSafeStr};
use stagefault_models::{Backend, BackendError, Namespaces};
use stagefault_properties::concurrent::{Episode, Lane, Plan};
use stagefault_stores::postgres::{PostgresBackend, PostgresNamespaces, Traced};

use crate::judged;
use crate::tracing::Tracing;
use crate::tracing::sending::send;

/// How many episodes each side does in a turn.
const EPISODES: u64 = 40;
/// How many turns each side has.
const TURNS: usize = 9;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Measures both, turn by turn, and prints how they compare.
pub async fn compare(namespaces: &PostgresNamespaces, plan: Plan) -> Outcome<()> {
    let traces = traced(namespaces.fresh().await?, plan).await?;
    let backend = namespaces.fresh().await?;
    let mut raw = Raw::on(&backend, plan.writers).await?;
    let mut lane = Lane::new(namespaces, plan);

    // Their first turns do not count: they make connections and have statements prepared.
    run(&mut lane).await?;
    raw.send(&traces).await?;
    let (mut counts, mut turns) = (Counts::default(), Vec::new());
    for _ in 0..TURNS {
        let began = Instant::now();
        run(&mut lane).await?;
        let ran = began.elapsed();
        counts = raw.send(&traces).await?;
        turns.push((ran, began.elapsed() - ran));
    }
    lane.renew().await?;
    drop(raw);
    backend.remove().await?;
    print(&traces, turns, counts);
    Ok(())
}

fn print(traces: &[Trace], mut turns: Vec<(Duration, Duration)>, counts: Counts) {
    let times = |(ran, sent): &(Duration, Duration)| sent.as_secs_f64() / ran.as_secs_f64();
    turns.sort_by(|one, other| times(one).total_cmp(&times(other)));
    let (least, middle, most) = (&turns[0], &turns[TURNS / 2], &turns[TURNS - 1]);
    let operations: usize = traces.iter().map(|trace| trace.operations).sum();
    let rate = |took: Duration| operations as f64 / took.as_secs_f64();
    println!(
        "postgres  {:>8.0} operations a second by the lane, {:.0} by a raw client: {:.2} times \
         as many ({:.2} to {:.2} in {TURNS} turns)",
        rate(middle.0),
        rate(middle.1),
        times(middle),
        times(least),
        times(most),
    );
    let Counts { statements, guarded, written, failed } = counts;
    println!(
        "          {:.2} statements an operation; raw, {written} of {guarded} guarded writes \
         wrote, and {failed} statements failed",
        statements as f64 / operations as f64,
    );
}

/// Runs the episodes, and judges them.
async fn run<N: Namespaces>(lane: &mut Lane<'_, N>) -> Outcome<()> {
    for number in 0..EPISODES {
        judged(&episode(lane, number).await?)?;
    }
    Ok(())
}

async fn episode<N: Namespaces>(lane: &mut Lane<'_, N>, number: u64) -> Outcome<Episode> {
    Ok(lane.run(number, SmallRng::seed_from_u64(number).next_u64()).await?)
}

/// What an episode sent.
struct Trace {
    /// What each writer sent.
    writers: Vec<Vec<Sent>>,
    /// What the first one sent when all was over.
    end: Vec<Sent>,
    /// How many operations that was.
    operations: usize,
}

/// A statement to be sent raw.
struct Sent {
    traced: Traced,
    /// Whether it is a guarded write that was carried out.
    writes: bool,
}

/// Runs the episodes with every handle tracing.
async fn traced(backend: PostgresBackend, plan: Plan) -> Outcome<Vec<Trace>> {
    let tracing = Tracing::of(backend);
    let log = tracing.log.clone();
    let namespaces = Only(Mutex::new(Some(tracing)));
    let mut lane = Lane::new(&namespaces, plan);
    let mut traces = Vec::new();
    for number in 0..EPISODES {
        let episode = episode(&mut lane, number).await?;
        let mut executed = log.take();
        let operations = episode.history.operations.len();
        let at_the_end = operations - episode.schedule.operations.len();
        let end = executed.split_off(executed.len() - at_the_end);
        let mut writers: Vec<Vec<Sent>> = (0..plan.writers).map(|_| Vec::new()).collect();
        for executed in executed {
            writers[executed.connection].extend(to_send(executed.statements));
        }
        let end = end.into_iter().flat_map(|executed| to_send(executed.statements)).collect();
        traces.push(Trace { writers, end, operations });
    }
    lane.renew().await?;
    Ok(traces)
}

/// The statements of an operation. Of its guarded writes the last one was carried out: after
/// another it would have gone round again.
fn to_send(statements: Vec<Traced>) -> impl Iterator<Item = Sent> {
    let guarded = |traced: &Traced| traced.sql.as_str().contains(" AND revision = $");
    let last = statements.iter().rposition(guarded);
    statements.into_iter().enumerate().map(move |(index, traced)| match last == Some(index) {
        true => Sent { traced: unguarded(traced), writes: true },
        false => Sent { traced, writes: false },
    })
}

/// The write, with a guard that holds. The parameter stays, and so do the arguments.
fn unguarded(Traced { sql, arguments }: Traced) -> Traced {
    let sql = sql.as_str().replace(" AND revision = $", " AND revision <> -$");
    Traced { sql: AssertSqlSafe(sql).into_sql_str(), arguments }
}

/// One namespace, for a lane that needs no more.
struct Only<B>(Mutex<Option<B>>);

impl<B: Backend> Namespaces for Only<B> {
    type Backend = B;

    async fn fresh(&self) -> Result<B, BackendError> {
        let taken = self.0.lock().ok().and_then(|mut only| only.take());
        let (location, reason) = ("the only namespace".to_owned(), "it was taken".to_owned());
        taken.ok_or(BackendError::Unreachable { location, reason })
    }
}

/// Connections without a lane.
struct Raw(Vec<PgConnection>);

impl Raw {
    async fn on(backend: &PostgresBackend, writers: u32) -> Outcome<Self> {
        let mut connections = Vec::new();
        for _ in 0..writers {
            connections.push(backend.connect_options().connect().await?);
        }
        Ok(Raw(connections))
    }

    /// Sends the episodes.
    async fn send(&mut self, traces: &[Trace]) -> Outcome<Counts> {
        let mut sum = Counts::default();
        for trace in traces {
            let at_once = self.0.iter_mut().zip(&trace.writers);
            for counts in join_all(at_once.map(|(one, sent)| send_all(one, sent))).await {
                sum.add(counts?);
            }
            sum.add(send_all(&mut self.0[0], &trace.end).await?);
        }
        Ok(sum)
    }
}

/// Sends one statement after the other, and counts what comes of them. The server may refuse
/// one, where others meet than in the lane: that is an answer, too.
async fn send_all(connection: &mut PgConnection, sent: &[Sent]) -> Result<Counts, sqlx::Error> {
    let mut counts = Counts::default();
    for Sent { traced, writes } in sent {
        counts.statements += 1;
        counts.guarded += u64::from(*writes);
        match std::hint::black_box(send(connection, traced).await) {
            Ok((_, changes)) => counts.written += u64::from(*writes && changes > 0),
            Err(sqlx::Error::Database(_)) => counts.failed += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(counts)
}

/// What was sent.
#[derive(Clone, Copy, Default)]
struct Counts {
    statements: u64,
    /// How many were guarded writes that were carried out in the lane, and how many of these
    /// wrote.
    guarded: u64,
    written: u64,
    failed: u64,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.statements += other.statements;
        self.guarded += other.guarded;
        self.written += other.written;
        self.failed += other.failed;
    }
}

//! The lane on PostgreSQL beside a raw client: eight connections that send the very same
//! statements, with nothing generated, recorded, audited or judged.
//!
//! The lane runs the episodes once with every handle tracing, which tells what each operation
//! sent. The raw client sends it again on another schema: the operations in the order in which
//! they began, each on the next connection that is free, which is how the lane calls them. As
//! in the lane, one episode begins when the other is over; so do the reads and the deletions
//! at its end. Every turn has episodes of its own, for no lane names a session again.
//!
//! A write is guarded by the revision and the count of stages that its session had in the lane,
//! and where operations overlap otherwise hardly any would meet them, and write. So of a write
//! that was carried out in the lane the guard is sent with a condition that holds; one that was
//! in vain is sent as it was. How many of the former do write, and how many statements fail, is
//! counted.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnection;
use stagefault_models::{Backend, Namespaces};
use stagefault_properties::concurrent::{Lane, Plan};
use stagefault_stores::postgres::{PostgresBackend, PostgresNamespaces};

use crate::traces::{Sent, Trace, episode, traced};
use crate::tracing::sending::send;
use crate::{Outcome, judged};

/// How many episodes each side does in a turn.
const EPISODES: u64 = 40;
/// How many turns each side has.
const TURNS: usize = 9;

/// Measures both, turn by turn, and prints how they compare.
pub async fn compare(namespaces: &PostgresNamespaces, plan: Plan) -> Outcome<()> {
    let mut turns =
        traced(namespaces.fresh().await?, plan, TURNS as u64 + 1, EPISODES).await?.into_iter();
    let backend = namespaces.fresh().await?;
    let mut raw = Raw::on(&backend, plan.writers).await?;
    let mut lane = Lane::new(namespaces, plan);

    // Their first turns do not count: they make connections and have statements prepared.
    if let Some(turn) = turns.next() {
        run(&mut lane, &turn).await?;
        raw.send(&turn).await?;
    }
    let mut measured = Vec::new();
    for turn in turns {
        let began = Instant::now();
        run(&mut lane, &turn).await?;
        let ran = began.elapsed();
        let counts = raw.send(&turn).await?;
        let sent = began.elapsed() - ran;
        let operations = turn.iter().map(|trace| trace.operations).sum();
        measured.push(Measured { ran, sent, operations, counts });
    }
    lane.renew().await?;
    drop(raw);
    backend.remove().await?;
    print(measured);
    Ok(())
}

/// What a turn of both was.
struct Measured {
    /// How long the lane took.
    ran: Duration,
    /// How long the raw client took.
    sent: Duration,
    /// How many operations the lane had when it was traced.
    operations: usize,
    counts: Counts,
}

impl Measured {
    /// How many times as many operations the lane did.
    fn times(&self) -> f64 {
        self.sent.as_secs_f64() / self.ran.as_secs_f64()
    }
}

fn print(mut turns: Vec<Measured>) {
    turns.sort_by(|one, other| one.times().total_cmp(&other.times()));
    let (least, middle, most) = (&turns[0], &turns[TURNS / 2], &turns[TURNS - 1]);
    let rate = |took: Duration| middle.operations as f64 / took.as_secs_f64();
    println!(
        "postgres  {:>8.0} operations a second by the lane, {:.0} by a raw client: {:.2} times \
         as many ({:.2} to {:.2} in {TURNS} turns)",
        rate(middle.ran),
        rate(middle.sent),
        middle.times(),
        least.times(),
        most.times(),
    );
    let mut sum = Counts::default();
    turns.iter().for_each(|turn| sum.add(turn.counts));
    let Counts { statements, guarded, written, failed } = sum;
    let operations: usize = turns.iter().map(|turn| turn.operations).sum();
    println!(
        "          {:.2} statements an operation; raw, {written} of {guarded} guarded writes \
         wrote, and {failed} of {statements} statements failed",
        statements as f64 / operations as f64,
    );
}

/// Runs these episodes, and judges them.
async fn run<N: Namespaces>(lane: &mut Lane<'_, N>, turn: &[Trace]) -> Outcome<()> {
    for trace in turn {
        judged(&episode(lane, trace.number).await?)?;
    }
    Ok(())
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

    /// Sends these episodes.
    async fn send(&mut self, turn: &[Trace]) -> Outcome<Counts> {
        let mut sum = Counts::default();
        for operations in turn.iter().flat_map(|trace| &trace.parts) {
            let next = Cell::new(0);
            let connections = self.0.iter_mut();
            for counts in
                join_all(connections.map(|one| take_and_send(one, operations, &next))).await
            {
                sum.add(counts?);
            }
        }
        Ok(sum)
    }
}

/// Sends what an operation sent, and then takes the next one that nobody has taken.
async fn take_and_send(
    connection: &mut PgConnection,
    operations: &[Vec<Sent>],
    next: &Cell<usize>,
) -> Result<Counts, sqlx::Error> {
    let mut counts = Counts::default();
    while let Some(sent) = operations.get(next.replace(next.get() + 1)) {
        counts.add(send_all(connection, sent).await?);
    }
    Ok(counts)
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

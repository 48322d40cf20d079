//! What the concurrent lane's operations sent to PostgreSQL, in a form that a raw client can
//! send again.

use std::sync::Mutex;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sqlx::{AssertSqlSafe, SqlSafeStr};
use stagefault_models::{Backend, BackendError, Namespaces, Operation, Recorded};
use stagefault_properties::concurrent::{Episode, Lane, Plan};
use stagefault_stores::postgres::{PostgresBackend, Traced};

use crate::Outcome;
use crate::tracing::{Executed, Tracing};

/// Runs the episode of this number, which always has the same seed.
pub async fn episode<N: Namespaces>(lane: &mut Lane<'_, N>, number: u64) -> Outcome<Episode> {
    Ok(lane.run(number, SmallRng::seed_from_u64(number).next_u64()).await?)
}

/// What an episode sent.
pub struct Trace {
    pub number: u64,
    /// What each operation sent, in the order in which they began: first all that ran
    /// freely, then the reads at the end, and then the deletions.
    pub parts: [Vec<Vec<Sent>>; 3],
    /// How many operations the writers called.
    pub operations: usize,
}

/// A statement to be sent raw.
pub struct Sent {
    pub traced: Traced,
    /// Whether it is a guarded write that was carried out.
    pub writes: bool,
}

/// Runs the episodes of so many turns, of so many episodes each, with every handle tracing.
pub async fn traced(
    backend: PostgresBackend,
    plan: Plan,
    turns: u64,
    episodes: u64,
) -> Outcome<Vec<Vec<Trace>>> {
    let tracing = Tracing::of(backend);
    let log = tracing.log.clone();
    let namespaces = Only(Mutex::new(Some(tracing)));
    let mut lane = Lane::new(&namespaces, plan);
    let mut traced = Vec::new();
    for turn in 0..turns {
        let mut traces = Vec::new();
        for number in turn * episodes..(turn + 1) * episodes {
            let episode = episode(&mut lane, number).await?;
            traces.push(trace(number, &episode, log.take()));
        }
        traced.push(traces);
    }
    lane.renew().await?;
    Ok(traced)
}

fn trace(number: u64, episode: &Episode, executed: Vec<Executed<Traced>>) -> Trace {
    let recorded = &episode.history.operations;
    let at_the_end = &recorded[episode.schedule.operations.len()..];
    let is_deletion = |it: &&Recorded| matches!(it.operation, Operation::DeleteSession { .. });
    let deletions = at_the_end.iter().filter(is_deletion).count();
    let mut free: Vec<_> = executed.into_iter().map(|it| to_send(it.statements)).collect();
    let mut reads = free.split_off(free.len() - at_the_end.len());
    let deletions = reads.split_off(reads.len() - deletions);
    Trace { number, parts: [free, reads, deletions], operations: recorded.len() }
}

/// The statements of an operation. A guarded write that was carried out is the last of them,
/// but for the commit; after one that was in vain it goes round again.
fn to_send(statements: Vec<Traced>) -> Vec<Sent> {
    let commits = |traced: &Traced| traced.sql.as_str() == "COMMIT";
    let before = statements.len() - usize::from(statements.last().is_some_and(commits));
    let to_send = |(index, traced): (usize, Traced)| match index + 1 == before && guarded(&traced) {
        true => Sent { traced: unguarded(traced), writes: true },
        false => Sent { traced, writes: false },
    };
    statements.into_iter().enumerate().map(to_send).collect()
}

fn guarded(traced: &Traced) -> bool {
    traced.sql.as_str().contains(" AND revision = $")
}

/// The write, with a guard that holds. The parameters stay, and so do the arguments.
fn unguarded(Traced { sql, arguments }: Traced) -> Traced {
    let sql = sql.as_str().replace("revision = $", "revision >= 0 * $");
    let sql = sql.replace("stagings = $", "stagings >= 0 * $");
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

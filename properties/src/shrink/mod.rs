//! Shrinking: from a long failing schedule to a short one that fails in the same way.
//!
//! It works on the schedule and knows nothing of what is wrong. A candidate counts when a
//! replay on a fresh namespace gives a violation of the same [`Signature`]. The passes go
//! from coarse to fine (drop runs of operations, pairs, fold two operations into one, then
//! simplify what is left) and start over until none of them finds anything.
//!
//! Of a concurrent schedule, faults and turns are dropped as well, and faults that are done
//! for real moved to earlier points and made simpler. A candidate counts when
//! it shows any violation, whichever operation finds no place; and where a replay is not
//! certain to be the same, a candidate is replayed several times, and the result comes with
//! how often it fails.

mod drop;
mod fold;
mod interleaving;
mod runs;
mod simplify;

use std::fmt;

use serde::{Deserialize, Serialize};
use stagefault_models::{Interleaving, Invariant, Namespaces, Schedule};

use crate::concurrent::Replayer;
use crate::sequential::replay;
use crate::violation::{EpisodeError, Signature, Violation};

/// A schedule that fails, and how.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The schedule.
    pub schedule: Schedule,
    /// What it shows.
    pub violation: Violation,
}

/// How a shrink ended.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The shortest failing schedule that was found.
    pub failing: Failing,
    /// How many candidates were replayed.
    pub attempts: u32,
    /// Whether the limit ended it before it was done.
    pub exhausted: bool,
    /// How often the shortest schedule fails, where that is not certain.
    pub hits: Option<Hits>,
}

/// How often a schedule failed when it was replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hits {
    /// How often it failed.
    pub failed: u32,
    /// How often it was replayed.
    pub replays: u32,
}

impl fmt::Display for Hits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "fails in {} of {} replays", self.failed, self.replays)
    }
}

/// The most candidates that a shrink replays unless told otherwise.
pub const DEFAULT_ATTEMPTS: u32 = 20_000;

/// How often a candidate is replayed that is not certain to fail.
const REPLAYS: u32 = 10;

/// The same where turns decide nearly everything.
const REPLAYS_BY_TURNS: u32 = 3;

/// The same where connections and servers break: that takes long, and happens where the
/// schedule says, so that nearly every replay is the same.
const REPLAYS_OF_FAULTS: u32 = 3;

/// How often the schedule to be shrunk is replayed before it is given up, and the result to
/// say how often it fails.
const MANY_REPLAYS: u32 = 50;

/// The same where connections and servers break.
const MANY_REPLAYS_OF_FAULTS: u32 = 10;

/// What a shrink reports after each candidate.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// How many candidates were replayed.
    pub attempts: u32,
    /// How many operations the best schedule has.
    pub operations: usize,
    /// The candidate, if it is the best schedule from now on. Who keeps it can drop the
    /// shrink at any moment and has the best so far.
    pub better: Option<&'a Failing>,
}

/// Why a shrink could not be done.
#[derive(Debug, thiserror::Error)]
pub enum ShrinkError {
    /// The schedule that was to be shrunk does not fail.
    #[error("the schedule does not fail on this store, so there is nothing to shrink")]
    Passes,
    /// The schedule to be shrunk is one whose replays are not all the same, and none failed.
    #[error("it was not seen again in {replays} replays; the history is what there is of it")]
    NotReproduced {
        /// How often it was replayed.
        replays: u32,
    },
    /// The store or its namespace could not be used.
    #[error(transparent)]
    Episode(EpisodeError),
}

/// Shrinks a failing schedule.
///
/// # Errors
/// [`ShrinkError::Passes`] when the schedule does not fail at all, and the trouble of the
/// store when it cannot be used.
pub async fn shrink<N: Namespaces>(
    namespaces: &N,
    schedule: &Schedule,
    limit: u32,
    progress: impl FnMut(Progress<'_>),
) -> Result<Shrunk, ShrinkError> {
    let mut replayed = Replays { namespaces, replayer: Replayer::new(namespaces) };
    let many = many_replays(schedule);
    let violation = match replayed.violation(schedule, 1, many).await {
        Ok(Some(violation)) => violation,
        Ok(None) if replayed.is_certain(schedule) => return Err(ShrinkError::Passes),
        Ok(None) => return Err(ShrinkError::NotReproduced { replays: many }),
        Err(error) => return Err(ShrinkError::Episode(error)),
    };
    let signature = violation.signature();
    let best = Failing { schedule: schedule.clone(), violation };
    let mut search =
        Search { replays: replayed, wanted: 1, signature, best, attempts: 0, limit, progress };
    // What fails often is to go on failing often.
    let hits = search.count_hits(first_replays(schedule)).await.map_err(ShrinkError::Episode)?;
    if hits.is_some_and(|hits| hits.failed * replays(schedule) >= 2 * hits.replays) {
        search.wanted = 2;
    }
    let ended = search.run().await;
    let exhausted = match ended {
        Ok(()) => false,
        Err(Ended::Exhausted) => true,
        Err(Ended::Trouble(error)) => return Err(ShrinkError::Episode(error)),
    };
    let shortest = &search.best.schedule;
    let often = if shortest.has_real_faults() { MANY_REPLAYS_OF_FAULTS } else { MANY_REPLAYS };
    let hits = search.count_hits(often).await.map_err(ShrinkError::Episode)?;
    let Search { replays, best, attempts, .. } = search;
    replays.replayer.close().await.map_err(ShrinkError::Episode)?;
    Ok(Shrunk { failing: best, attempts, exhausted, hits })
}

/// How often a candidate is replayed.
fn replays(candidate: &Schedule) -> u32 {
    match candidate.interleaving {
        _ if candidate.has_real_faults() => REPLAYS_OF_FAULTS,
        Some(Interleaving::Free) => REPLAYS,
        _ => REPLAYS_BY_TURNS,
    }
}

/// How often the schedule to be shrunk is replayed to see how often it fails.
fn first_replays(schedule: &Schedule) -> u32 {
    if schedule.has_real_faults() { REPLAYS_OF_FAULTS } else { MANY_REPLAYS }
}

/// How often a schedule is replayed to be found at all.
fn many_replays(schedule: &Schedule) -> u32 {
    match schedule.interleaving {
        _ if schedule.has_real_faults() => MANY_REPLAYS_OF_FAULTS,
        Some(Interleaving::Free) => MANY_REPLAYS,
        _ => REPLAYS_BY_TURNS,
    }
}

fn is_liveness(invariant: Invariant) -> bool {
    invariant == Invariant::Liveness
}

/// Replays on the lane that a schedule is for.
struct Replays<'a, N: Namespaces> {
    namespaces: &'a N,
    replayer: Replayer<'a, N>,
}

impl<N: Namespaces> Replays<'_, N> {
    /// Whether the last replay, which was of this schedule, is certain to be the same again.
    fn is_certain(&self, schedule: &Schedule) -> bool {
        !schedule.is_concurrent() || self.replayer.is_certain()
    }

    /// The violation, if the schedule shows one so often as is wanted in so many replays.
    async fn violation(
        &mut self,
        schedule: &Schedule,
        wanted: u32,
        replays: u32,
    ) -> Result<Option<Violation>, EpisodeError> {
        if schedule.is_concurrent() {
            return self.replayer.violation(schedule, wanted, replays).await;
        }
        let backend = self.namespaces.fresh().await?;
        match replay(backend, schedule).await {
            Ok(()) => Ok(None),
            Err(EpisodeError::Violation(violation)) => Ok(Some(*violation)),
            Err(trouble) => Err(trouble),
        }
    }
}

/// Why the search stopped before it was done.
enum Ended {
    Exhausted,
    Trouble(EpisodeError),
}

/// The best schedule so far, and how candidates are tried against it.
struct Search<'a, N: Namespaces, P> {
    replays: Replays<'a, N>,
    /// How often a candidate is to fail.
    wanted: u32,
    signature: Signature,
    best: Failing,
    attempts: u32,
    limit: u32,
    progress: P,
}

impl<N: Namespaces, P: FnMut(Progress)> Search<'_, N, P> {
    async fn run(&mut self) -> Result<(), Ended> {
        loop {
            let before = self.best.schedule.clone();
            self.cut_after_failure();
            self.call_in_order().await?;
            // First of all, for what breaks connections and servers is what takes time.
            self.drop_faults().await?;
            self.drop_runs().await?;
            self.drop_pairs().await?;
            self.fold().await?;
            self.merge_writers().await?;
            self.simplify_faults().await?;
            self.drop_turns().await?;
            self.simplify().await?;
            if self.best.schedule == before {
                return Ok(());
            }
        }
    }

    /// Drops what came after the operation that showed the violation; it was never executed.
    fn cut_after_failure(&mut self) {
        // Of a concurrent schedule everything was executed, and may be what shows it.
        if self.best.schedule.is_concurrent() {
            return;
        }
        if let Some(index) = self.best.violation.index {
            self.best.schedule.operations.truncate(index + 1);
        }
    }

    /// Whether the candidate fails in the same way; then it is the best one from now on.
    async fn keep(&mut self, candidate: Schedule) -> Result<bool, Ended> {
        if candidate == self.best.schedule {
            return Ok(false);
        }
        if self.attempts >= self.limit {
            return Err(Ended::Exhausted);
        }
        self.attempts += 1;
        let violation = self.replays.violation(&candidate, self.wanted, replays(&candidate)).await;
        let violation = match violation {
            // Without a fault to blame, a store that does not get on is in trouble, and what is to
            // be shrunk is something else.
            Err(EpisodeError::Failed { .. }) if self.best.schedule.has_real_faults() => None,
            violation => violation.map_err(Ended::Trouble)?,
        };
        let kept = violation.filter(|violation| self.is_the_same(&candidate, violation));
        let is_better = kept.is_some();
        if let Some(violation) = kept {
            self.best = Failing { schedule: candidate, violation };
            self.cut_after_failure();
        }
        (self.progress)(Progress {
            attempts: self.attempts,
            operations: self.best.schedule.operations.len(),
            better: is_better.then_some(&self.best),
        });
        Ok(is_better)
    }

    /// Whether the candidate fails as the schedule did that is to be shrunk.
    fn is_the_same(&self, candidate: &Schedule, violation: &Violation) -> bool {
        match candidate.is_concurrent() {
            // Which operation finds no place, and so which invariant, depends on what else is
            // there; only whether the store answers at all is another matter.
            true => is_liveness(violation.invariant) == is_liveness(self.signature.invariant),
            false => violation.signature() == self.signature,
        }
    }

    /// How often the best schedule fails.
    async fn count_hits(&mut self, replays: u32) -> Result<Option<Hits>, EpisodeError> {
        let mut hits = Hits { failed: 0, replays };
        for _ in 0..hits.replays {
            let violation = self.replays.violation(&self.best.schedule, 1, 1).await?;
            hits.failed += u32::from(violation.is_some());
            if self.replays.is_certain(&self.best.schedule) {
                return Ok(None);
            }
        }
        Ok(Some(hits))
    }
}

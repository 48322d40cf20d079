//! Shrinking: from a long failing schedule to a short one that fails in the same way.
//!
//! It works on the schedule and knows nothing of what is wrong. A candidate counts when a
//! replay on a fresh namespace gives a violation of the same [`Signature`]. The passes go
//! from coarse to fine (drop runs of operations, pairs, then simplify what is left) and
//! start over until none of them finds anything.

mod drop;
mod simplify;

use stagefault_models::{Namespaces, Schedule};

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
}

/// The most candidates that a shrink replays unless told otherwise.
pub const DEFAULT_ATTEMPTS: u32 = 20_000;

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
    let violation = match fails(namespaces, schedule).await {
        Ok(Some(violation)) => violation,
        Ok(None) => return Err(ShrinkError::Passes),
        Err(error) => return Err(ShrinkError::Episode(error)),
    };
    let signature = violation.signature();
    let best = Failing { schedule: schedule.clone(), violation };
    let mut search = Search { namespaces, signature, best, attempts: 0, limit, progress };
    let ended = search.run().await;
    let exhausted = match ended {
        Ok(()) => false,
        Err(Ended::Exhausted) => true,
        Err(Ended::Trouble(error)) => return Err(ShrinkError::Episode(error)),
    };
    Ok(Shrunk { failing: search.best, attempts: search.attempts, exhausted })
}

/// Replays the schedule on a fresh namespace; the violation, if it shows one.
async fn fails<N: Namespaces>(
    namespaces: &N,
    schedule: &Schedule,
) -> Result<Option<Violation>, EpisodeError> {
    let backend = namespaces.fresh().await?;
    match replay(backend, schedule).await {
        Ok(()) => Ok(None),
        Err(EpisodeError::Violation(violation)) => Ok(Some(*violation)),
        Err(trouble) => Err(trouble),
    }
}

/// Why the search stopped before it was done.
enum Ended {
    Exhausted,
    Trouble(EpisodeError),
}

/// The best schedule so far, and how candidates are tried against it.
struct Search<'a, N, P> {
    namespaces: &'a N,
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
            self.drop_runs().await?;
            self.drop_pairs().await?;
            self.merge_writers().await?;
            self.simplify().await?;
            if self.best.schedule == before {
                return Ok(());
            }
        }
    }

    /// Drops what came after the operation that showed the violation; it was never executed.
    fn cut_after_failure(&mut self) {
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
        let violation = fails(self.namespaces, &candidate).await.map_err(Ended::Trouble)?;
        let kept = violation.filter(|violation| violation.signature() == self.signature);
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
}

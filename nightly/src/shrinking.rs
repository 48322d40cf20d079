//! A shrink that shows how far it is and that a signal ends with the best so far.

use std::cell::RefCell;
use std::time::Duration;

use stagefault_models::{BackendError, BoxedBackend, BoxedNamespaces, Namespaces};
use stagefault_properties::shrink::{self, Failing, Hits, ShrinkError};
use stagefault_properties::violation::EpisodeError;

use crate::progress::Progress;
use crate::signals::{Signal, Signals};

/// What became of a shrink.
pub struct Shrinking {
    /// The shortest failing schedule so far.
    pub best: Failing,
    /// How many candidates were replayed.
    pub attempts: u32,
    /// How often the best schedule fails, where that is not certain and was counted.
    pub hits: Option<Hits>,
    /// Why it ended.
    pub end: End,
}

/// Why a shrink ended.
#[derive(Debug)]
pub enum End {
    /// There was nothing left to try.
    Done,
    /// It had replayed as many candidates as it may.
    Exhausted,
    /// It had taken as long as it may.
    OutOfTime,
    /// A signal arrived.
    Interrupted(Signal),
    /// The schedule did not fail again, so nothing was shrunk.
    Passes,
    /// The schedule did not fail again in so many replays, which are not all the same.
    NotReproduced(u32),
    /// The store got into trouble.
    Trouble(EpisodeError),
}

impl Shrinking {
    /// Whether the schedule failed again, so that the best one is worth keeping.
    pub fn was_seen_again(&self) -> bool {
        !matches!(self.end, End::Passes | End::NotReproduced(_))
    }
}

/// Shrinks a schedule that fails.
pub async fn shrink(
    namespaces: &BoxedNamespaces,
    failing: Failing,
    limit: u32,
    signals: &Signals,
) -> Shrinking {
    Shrink { limit, time: None, signals }.of(namespaces, failing).await
}

/// How long a shrink may go on.
pub struct Shrink<'a> {
    /// The most candidates that are replayed.
    pub limit: u32,
    /// The longest time, if there is one.
    pub time: Option<Duration>,
    pub signals: &'a Signals,
}

impl Shrink<'_> {
    /// Shrinks a schedule that fails.
    pub async fn of(self, namespaces: &BoxedNamespaces, failing: Failing) -> Shrinking {
        let Shrink { limit, time, signals } = self;
        let schedule = failing.schedule.clone();
        let recorded = schedule.operations.len();
        let mut progress = Progress::open_ended();
        // Outside of the shrink, so that it is still there when the shrink is given up.
        let so_far = RefCell::new((failing, 0));
        let report = |now: shrink::Progress<'_>| {
            let mut so_far = so_far.borrow_mut();
            so_far.1 = now.attempts;
            if let Some(better) = now.better {
                so_far.0 = better.clone();
            }
            progress.show(now.attempts.into(), || {
                let (attempts, operations) = (now.attempts, now.operations);
                format!("shrinking: {recorded} operations, {operations} after {attempts} attempts")
            });
        };
        let interruptible = UntilSignal { namespaces, signals };
        let shrink = shrink::shrink(&interruptible, &schedule, limit, report);
        let ended = tokio::select! {
            biased;
            ended = shrink => Some(ended),
            () = over(time) => None,
            _ = signals.out_of_patience() => None,
        };
        let (hits, end) = match (signals.received(), ended) {
            (_, Some(Ok(shrunk))) if shrunk.exhausted => (shrunk.hits, End::Exhausted),
            (_, Some(Ok(shrunk))) => (shrunk.hits, End::Done),
            // Also what the namespaces said after the signal.
            (Some(signal), _) => (None, End::Interrupted(signal)),
            (None, Some(Err(ShrinkError::Passes))) => (None, End::Passes),
            (None, Some(Err(ShrinkError::NotReproduced { replays }))) => {
                (None, End::NotReproduced(replays))
            }
            (None, Some(Err(ShrinkError::Episode(error)))) => (None, End::Trouble(error)),
            (None, None) => (None, End::OutOfTime),
        };
        let (best, attempts) = so_far.into_inner();
        Shrinking { best, attempts, hits, end }
    }
}

async fn over(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Namespaces that end with the first signal: a lane ends in order between two replays,
/// with nothing open.
struct UntilSignal<'a> {
    namespaces: &'a BoxedNamespaces,
    signals: &'a Signals,
}

impl Namespaces for UntilSignal<'_> {
    type Backend = BoxedBackend;

    async fn fresh(&self) -> Result<BoxedBackend, BackendError> {
        match self.signals.received() {
            None => self.namespaces.fresh().await,
            Some(signal) => Err(BackendError::Unreachable {
                location: "a fresh namespace".to_owned(),
                reason: format!("interrupted by {}", signal.name()),
            }),
        }
    }
}

//! The concurrent lane: several writers at once, and a checker that finds the order in
//! which their operations took effect, or that there is none.
//!
//! An *episode* runs operations on fresh sessions ([`Concurrent::episode`]); the operations
//! are called in the schedule's order, each writer with a handle of its own and at most one
//! operation open. What overlaps is decided by turns on one thread, so that it replays
//! with certainty (a store in memory), or by the store and the system (any other).
//! When the operations are over, what is late is let in, everything is read, the raw
//! rows are audited and the sessions deleted. Where faults were done for real, it is waited
//! before until they have healed, and looked at what they left behind.
//!
//! What came of it is an [`Episode`], complete before anybody judges it: a lane can
//! write it down first. [`judge`] then holds the history against the contract.
//!
//! [`Lane`] runs episode after episode, for as long as its caller likes, in flat memory.
//! [`replay`] runs a schedule's episode again.

mod ending;
mod fired;
mod free;
mod judge;
mod lane;
mod learn;
mod run;
mod source;
mod tally;
mod turns;

use stagefault_chaos::injecting::{Injecting, InjectingStore};
use stagefault_models::{Backend, BackendError, History, Receipt, Schedule, Scope};

use std::time::Duration;

use crate::choices::Choices;
use crate::violation::EpisodeError;
use ending::{Cut, all_go_on, end};
use run::Run;

pub use ending::Aftermath;
pub use fired::{Counts, Fired, Tried};
pub use judge::{Judgement, judge, within};
pub use lane::{Lane, Plan, Replayer, replay};
pub use run::Stopped;
pub use source::{Generated, Source};
pub use tally::{Faults, Latencies, Tallies};

/// One backend and its writers.
pub struct Concurrent<B: Backend> {
    backend: Injecting<B>,
    stores: Vec<InjectingStore<B::Store>>,
    writers: u32,
}

/// What decides how operations overlap.
pub enum Overlap<'a, C> {
    /// The store and the system.
    Free,
    /// Turns chosen at random.
    Random(&'a mut C),
    /// The turns of a schedule.
    Turns(&'a [u32]),
}

/// What an episode recorded. It is to be judged by [`judge`].
#[derive(Clone, Debug)]
pub struct Episode {
    /// The operations as they were called, and how they overlapped.
    pub schedule: Schedule,
    /// What came of them; the first ones are those of the schedule, in the same places,
    /// and then come the reads and deletions at the end.
    pub history: History,
    /// The receipts of the faults that fired, in the places of the history.
    pub receipts: Vec<Option<Receipt>>,
    /// How it ended.
    pub end: End,
    /// Whether turns decided all that happened, so that a replay is the same.
    pub is_certain: bool,
}

/// How an episode ended.
#[derive(Clone, Debug)]
pub enum End {
    /// With every session read, audited and deleted.
    Whole(Box<Aftermath>),
    /// With an operation, in this place of the history, that did not answer.
    Stopped(usize, Stopped),
}

impl<B: Backend> Concurrent<B> {
    /// Opens a handle for each writer.
    ///
    /// # Errors
    /// The backend's, when it gives no handle.
    pub async fn open(backend: B, writers: u32) -> Result<Self, BackendError> {
        let backend = Injecting::new(backend);
        let mut lane = Concurrent { backend, stores: Vec::new(), writers: writers.max(1) };
        lane.open_stores().await?;
        Ok(lane)
    }

    async fn open_stores(&mut self) -> Result<(), BackendError> {
        while self.stores.len() < self.writers as usize {
            self.stores.push(self.backend.store().await?);
        }
        Ok(())
    }

    /// Closes the namespace and removes all that it left.
    ///
    /// # Errors
    /// The backend's.
    pub async fn remove(self) -> Result<(), BackendError> {
        drop(self.stores);
        self.backend.remove().await
    }

    /// Runs one episode, each operation within this deadline. A panic or a hang of the store ends it; do not use the backend any
    /// further then.
    ///
    /// # Errors
    /// That the store or its namespace could not be used.
    pub async fn episode<C: Choices>(
        &mut self,
        source: &mut impl Source,
        overlap: Overlap<'_, C>,
        deadline: Duration,
        tallies: &mut Tallies,
    ) -> Result<Episode, EpisodeError> {
        let by_turns = !matches!(overlap, Overlap::Free);
        let stores = std::mem::take(&mut self.stores);
        let mut run = Run::new(stores, source, tallies, !by_turns, deadline);
        let ran = match overlap {
            Overlap::Free => free::run(&mut run).await,
            Overlap::Random(choices) => turns::run(&mut run, turns::Random::new(choices)).await,
            Overlap::Turns(turns) => turns::run(&mut run, turns::Recorded::new(turns)).await,
        };
        let schedule = run.schedule(by_turns);
        let end = match ran {
            Ok(()) => self.end(&mut run).await,
            Err((index, stopped)) => Err(Cut::Stopped(index, stopped)),
        };
        let end = match end {
            Ok(aftermath) => End::Whole(Box::new(aftermath)),
            Err(Cut::Stopped(index, stopped)) => End::Stopped(index, stopped),
            Err(Cut::Trouble(error)) => return Err(error),
        };
        let Run { history, receipts, stores, passed_over, .. } = run;
        self.stores = stores.into_iter().flatten().collect();
        Ok(Episode { schedule, history, receipts, end, is_certain: by_turns && !passed_over })
    }

    async fn end(&mut self, run: &mut Run<'_, B::Store, impl Source>) -> Result<Aftermath, Cut> {
        let tormented = run.was_tormented();
        let mut go_on = Ok(());
        if tormented {
            // No fault is to come, so that nothing from now on is to be cut short.
            run.deadline = Scope::default().deadline;
            go_on = all_go_on(run).await;
        }
        // Also without a fault, for a store may leave something behind all by itself. Where the
        // server is gone for good, no writer is to blame.
        let left_behind = self.backend.settle().await?;
        go_on?;
        if tormented || run.in_doubt {
            // Nobody can tell what a broken connection is still at; a closed one is done.
            run.stores.clear();
            self.backend.reopen().await?;
            self.open_stores().await?;
            run.stores = self.stores.drain(..).map(Some).collect();
        }
        let aftermath = end(run, &self.backend).await?;
        Ok(Aftermath { left_behind, ..aftermath })
    }
}

impl Episode {
    /// How many operations the schedule has.
    pub fn operations(&self) -> u64 {
        self.schedule.operations.len() as u64
    }
}

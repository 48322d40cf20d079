//! Episode after episode, and the replay of one.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use stagefault_chaos::torment::Available;
use stagefault_models::{Interleaving, Namespaces, Schedule, Scope};

use super::source::Generated;
use super::{Concurrent, End, Episode, Overlap, Tallies, judge, within};
use crate::choices::Choices;
use crate::faults::Planner;
use crate::generator::Generator;
use crate::profile::{DEADLINE_UNDER_FAULTS, Profile};
use crate::sequential::Replayed;
use crate::violation::{EpisodeError, Violation};

/// The most that is spent on judging one replay.
const TIME: Duration = Duration::from_secs(10);
const BYTES: usize = 1 << 29;

/// What a long-running lane does.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What episodes are made of.
    pub profile: &'static Profile,
    /// How many writers run at once.
    pub writers: u32,
    /// Whether they take turns, which suits a store in memory.
    pub by_turns: bool,
    /// Whether each episode switches some operations off.
    pub swarm: bool,
}

/// Runs episode after episode on one namespace, and on a fresh one after a store was found
/// unusable.
pub struct Lane<'n, N: Namespaces> {
    namespaces: &'n N,
    plan: Plan,
    generator: Generator,
    planner: Option<Planner>,
    concurrent: Option<Concurrent<N::Backend>>,
    tallies: Tallies,
}

impl<'n, N: Namespaces> Lane<'n, N> {
    /// A lane on these namespaces; nothing is opened yet.
    pub fn new(namespaces: &'n N, plan: Plan) -> Self {
        let generator = Generator::new(plan.profile);
        let (concurrent, tallies) = (None, Tallies::default());
        Lane { namespaces, plan, generator, planner: None, concurrent, tallies }
    }

    /// Plans what the namespaces' backends can do to operations, as often as the profile
    /// has it.
    #[must_use]
    pub fn with_faults(mut self, available: Option<Available>) -> Self {
        self.planner = available.map(Planner::new);
        self
    }

    /// What was counted since this was asked last.
    pub fn take_tallies(&mut self) -> Tallies {
        std::mem::take(&mut self.tallies)
    }

    /// Runs the episode of this number. All that it chooses follows from the seed, which
    /// is the episode's own; what depends on the store's answers may differ where writers
    /// run freely.
    ///
    /// # Errors
    /// That the store or its namespace could not be used.
    pub async fn run(&mut self, number: u64, seed: u64) -> Result<Episode, EpisodeError> {
        let mut choices = SmallRng::seed_from_u64(seed);
        let mut turns = SmallRng::seed_from_u64(choices.word());
        self.generator.begin_episode(number);
        if self.plan.swarm {
            self.generator.switch_some_off(&mut choices);
        }
        let profile = self.plan.profile;
        // Not asked where there is nothing to plan, so that the choices stay the same.
        let planner = self.planner.as_ref().filter(|_| !choices.chance(profile.calm, 4));
        let mut source = Generated {
            generator: &mut self.generator,
            choices,
            remaining: profile.operations.into(),
            faults: profile.faults,
            real: planner.map(|planner| (profile.real, planner)),
        };
        let overlap = if self.plan.by_turns { Overlap::Random(&mut turns) } else { Overlap::Free };
        // Taken, so that a backend in trouble is not used again.
        let mut concurrent = match self.concurrent.take() {
            Some(concurrent) => concurrent,
            None => Concurrent::open(self.namespaces.fresh().await?, self.plan.writers).await?,
        };
        let episode =
            concurrent.episode(&mut source, overlap, profile.deadline, &mut self.tallies).await?;
        if let End::Whole(_) = episode.end {
            self.concurrent = Some(concurrent);
        }
        Ok(episode)
    }

    /// Begins anew on a fresh namespace, for this one holds what a violation left.
    ///
    /// # Errors
    /// That the present one could not be removed.
    pub async fn renew(&mut self) -> Result<(), EpisodeError> {
        match self.concurrent.take() {
            Some(concurrent) => Ok(concurrent.remove().await?),
            None => Ok(()),
        }
    }
}

/// Replays schedules, on one namespace for as long as it stays clean.
pub struct Replayer<'n, N: Namespaces> {
    namespaces: &'n N,
    open: Option<Concurrent<N::Backend>>,
    is_certain: bool,
}

impl<'n, N: Namespaces> Replayer<'n, N> {
    /// Replays on these namespaces.
    pub fn new(namespaces: &'n N) -> Self {
        Replayer { namespaces, open: None, is_certain: false }
    }

    /// Whether the last replay was one that is certain to be the same again.
    pub fn is_certain(&self) -> bool {
        self.is_certain
    }

    /// Runs the schedule's episode.
    ///
    /// # Errors
    /// That the store or its namespace could not be used.
    pub async fn replay(&mut self, schedule: &Schedule) -> Result<Episode, EpisodeError> {
        let mut concurrent = match self.open.take() {
            Some(open) if open.writers == schedule.writers() => open,
            other => {
                if let Some(open) = other {
                    open.remove().await?;
                }
                let backend = self.namespaces.fresh().await?;
                Concurrent::open(backend, schedule.writers()).await?
            }
        };
        let overlap: Overlap<'_, SmallRng> = match &schedule.interleaving {
            Some(Interleaving::Free) => Overlap::Free,
            Some(Interleaving::Turns(turns)) => Overlap::Turns(turns),
            // Without turns, one operation after the other.
            None => Overlap::Turns(&[]),
        };
        let mut source = Replayed::new(schedule);
        let mut tallies = Tallies::default();
        let deadline = match schedule.has_real_faults() {
            true => DEADLINE_UNDER_FAULTS,
            false => Scope::default().deadline,
        };
        let episode = concurrent.episode(&mut source, overlap, deadline, &mut tallies);
        let mut episode = episode.await?;
        episode.schedule.origin.clone_from(&schedule.origin);
        self.is_certain = episode.is_certain;
        if let End::Whole(aftermath) = &episode.end {
            if aftermath.left.is_empty() && aftermath.left_behind.is_empty() {
                self.open = Some(concurrent);
            } else {
                concurrent.remove().await?;
            }
        }
        Ok(episode)
    }

    /// Replays until a violation was seen so often as is `wanted`, in so many replays at most;
    /// where a replay is certain to be the same, once is enough.
    ///
    /// # Errors
    /// That the store or its namespace could not be used.
    pub async fn violation(
        &mut self,
        schedule: &Schedule,
        wanted: u32,
        replays: u32,
    ) -> Result<Option<Violation>, EpisodeError> {
        let mut missing = wanted;
        for left in (0..replays).rev() {
            let episode = self.replay(schedule).await?;
            let violation = judge(&episode, within(TIME, BYTES)).violation();
            missing = missing.saturating_sub(u32::from(violation.is_some()));
            if missing == 0 || episode.is_certain {
                return Ok(violation);
            }
            if missing > left {
                break;
            }
        }
        Ok(None)
    }

    /// Ends it.
    ///
    /// # Errors
    /// That the namespace could not be removed.
    pub async fn close(self) -> Result<(), EpisodeError> {
        match self.open {
            Some(open) => Ok(open.remove().await?),
            None => Ok(()),
        }
    }
}

/// Runs the schedule's episode on a fresh namespace.
///
/// # Errors
/// That the store or its namespace could not be used.
pub async fn replay<N: Namespaces>(
    namespaces: &N,
    schedule: &Schedule,
) -> Result<Episode, EpisodeError> {
    let mut replayer = Replayer::new(namespaces);
    let episode = replayer.replay(schedule).await?;
    replayer.close().await?;
    Ok(episode)
}

//! Hunting for one flaw in one store from one seed, on the lane that can show it.

use std::time::{Duration, Instant};

use stagefault_properties::catalogue::{self, Entry};
use stagefault_properties::concurrent::{Episode, Judgement, Lane, Plan, judge, within};
use stagefault_properties::shrink::{DEFAULT_ATTEMPTS, Failing};
use stagefault_properties::violation::EpisodeError;

use super::matrix::Hunt;
use crate::cli::FlawsArguments;
use crate::episodes::{End, Episodes, Limit};
use crate::error::CommandError;
use crate::signals::Signal;
use crate::stores::{Choice, StoreName, Stores};
use crate::{Context, seeds, shrinking};

/// The most candidates that the shrink of an episode of several writers replays: each of them
/// is judged by a search.
const ATTEMPTS: u32 = 1_000;

/// The longest that one may take whose replays break connections and servers.
const TIME_UNDER_CHAOS: Duration = Duration::from_secs(120);

/// The most that is spent on judging an episode.
const TIME: Duration = Duration::from_secs(60);
const BYTES: usize = 1 << 30;

/// What came of a hunt, unless a signal ended it.
pub type Hunted = Result<Result<Hunt, Signal>, CommandError>;

/// Hunts for the flaw in the store from this seed.
///
/// # Errors
/// That the store cannot be used.
pub async fn hunt(
    entry: &Entry,
    store: StoreName,
    seed: u64,
    arguments: &FlawsArguments,
    context: Context<'_>,
) -> Hunted {
    let choice =
        Choice { store, flaw: Some(entry.flaw), chaos: entry.lane == catalogue::Lane::Chaos };
    let stores = Stores::temporary(choice, context.postgres).await?;
    let hunt = Hunter { entry, choice, seed, context, stores: &stores };
    let hunted = match entry.lane {
        catalogue::Lane::Sequential => hunt.one_after_another(arguments.ops).await,
        catalogue::Lane::Concurrent | catalogue::Lane::Chaos => {
            hunt.among_writers(arguments.episodes).await
        }
    };
    stores.remove();
    hunted
}

struct Hunter<'a> {
    entry: &'a Entry,
    choice: Choice,
    seed: u64,
    context: Context<'a>,
    stores: &'a Stores,
}

impl Hunter<'_> {
    /// Runs one operation after another, so many at most.
    async fn one_after_another(&self, operations: u64) -> Hunted {
        let Hunter { entry, choice, seed, stores, .. } = *self;
        let signals = self.context.signals;
        let mut episodes = Episodes::open(stores, choice.store, entry.profile(), seed).await?;
        let end = episodes.run(Limit::Operations(operations), signals).await;
        let ran = episodes.close().await;
        let shrunk = match end {
            End::Limit => None,
            End::Signal(signal) => return Ok(Err(signal)),
            End::Violation { failing, .. } => {
                let namespaces = stores.namespaces();
                let shrunk = shrinking::shrink(namespaces, failing, DEFAULT_ATTEMPTS, signals);
                let shrunk = shrunk.await;
                match shrunk.end {
                    shrinking::End::Interrupted(signal) => return Ok(Err(signal)),
                    _ => Some(shrunk.best.schedule.operations.len()),
                }
            }
            End::Trouble { error, episode } => return Err(self.trouble(error, episode)),
        };
        let (episodes, operations) = (ran.episodes, ran.tally.total());
        Ok(Ok(Hunt { seed, episodes, operations, elapsed: ran.elapsed, shrunk }))
    }

    /// Runs episodes of several writers, so many at most, until one is a violation that replays
    /// show again. They take turns, which decide nearly everything where a store waits, and not
    /// all; under chaos they run freely.
    async fn among_writers(&self, episodes: u64) -> Hunted {
        let Hunter { entry, seed, stores, .. } = *self;
        let signals = self.context.signals;
        let profile = entry.profile();
        let by_turns = entry.lane == catalogue::Lane::Concurrent;
        let plan = Plan { profile, writers: profile.writers, by_turns, swarm: true };
        let lane = Lane::new(stores.namespaces(), plan);
        let mut lane = lane.with_faults(stores.available());
        let started = Instant::now();
        let mut hunt =
            Hunt { seed, episodes: 0, operations: 0, elapsed: Duration::ZERO, shrunk: None };
        while hunt.episodes < episodes && hunt.shrunk.is_none() {
            if let Some(signal) = signals.received() {
                return Ok(Err(signal));
            }
            let number = hunt.episodes;
            let episode = tokio::select! {
                biased;
                episode = lane.run(number, seeds::of_episode(seed, number)) => episode,
                signal = signals.out_of_patience() => return Ok(Err(signal)),
            };
            let episode = episode.map_err(|error| self.trouble(error, number))?;
            hunt.episodes += 1;
            hunt.operations += episode.operations();
            hunt.elapsed = started.elapsed();
            let Some(failing) = self.failing(episode, number)? else { continue };
            lane.renew().await.map_err(|error| self.trouble(error, number))?;
            let shrunk = shrinking::Shrink { limit: ATTEMPTS, time: self.time(), signals };
            let shrunk = shrunk.of(stores.namespaces(), failing).await;
            let seen_again = shrunk.was_seen_again();
            match shrunk.end {
                shrinking::End::Interrupted(signal) => return Ok(Err(signal)),
                shrinking::End::Trouble(error) => return Err(self.trouble(error, number)),
                _ if !seen_again => {}
                _ => hunt.shrunk = Some(shrunk.best.schedule.operations.len()),
            }
        }
        lane.renew().await.map_err(|error| self.trouble(error, hunt.episodes))?;
        Ok(Ok(hunt))
    }

    /// How long a shrink may take. Faults that are done for real take their time.
    fn time(&self) -> Option<Duration> {
        (self.entry.lane == catalogue::Lane::Chaos).then_some(TIME_UNDER_CHAOS)
    }

    /// The episode and what it shows, if it is a violation.
    fn failing(&self, episode: Episode, number: u64) -> Result<Option<Failing>, CommandError> {
        match judge(&episode, within(TIME, BYTES)) {
            Judgement::Holds { .. } => Ok(None),
            Judgement::Violation(violation) => {
                Ok(Some(Failing { schedule: episode.schedule, violation: *violation }))
            }
            // A store that says what it cannot know leaves episodes undecided, and others are not.
            Judgement::Undecided(_) if self.entry.lane == catalogue::Lane::Chaos => Ok(None),
            Judgement::Undecided(why) => Err(self.trouble(EpisodeError::Undecided(why), number)),
        }
    }

    fn trouble(&self, error: EpisodeError, episode: u64) -> CommandError {
        CommandError::Episode { place: format!("episode {episode} of seed {}", self.seed), error }
    }
}

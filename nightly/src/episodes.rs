//! One episode after another on one store, until something ends it: the loop of `run`,
//! and of the hunt for a planted flaw.

use std::fmt;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use stagefault_models::{
    Backend, BackendError, BoxedBackend, Entry, Namespaces, Origin, StoreModel,
};
use stagefault_properties::generator::Generator;
use stagefault_properties::profile::Profile;
use stagefault_properties::sequential::{Generated, Options, Sequential, Source};
use stagefault_properties::shrink::Failing;
use stagefault_properties::tally::Tally;
use stagefault_properties::violation::EpisodeError;

use crate::progress::Progress;
use crate::report::counted;
use crate::seeds;
use crate::signals::{Signal, Signals};
use crate::stores::{StoreName, Stores};

/// Out of so many episodes one, beginning with the first, closes a durable store and opens
/// it again before it compares. That costs more than an episode, and finds what nothing
/// else does.
const REOPENS: u64 = 64;

/// How long closing the store may take. Its files are removed in any case.
const CLOSING: Duration = Duration::from_secs(1);

/// When a run ends by itself.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// After so many operations.
    Operations(u64),
    /// After so much time, at the end of an episode.
    Time(Duration),
}

/// Why a run ended.
pub enum End {
    /// The limit was reached.
    Limit,
    /// A signal arrived.
    Signal(Signal),
    /// The store broke the contract.
    Violation { failing: Failing, episode: u64 },
    /// The store could not be used.
    Trouble { error: EpisodeError, episode: u64 },
}

/// What ran.
pub struct Ran {
    pub episodes: u64,
    pub elapsed: Duration,
    pub tally: Tally,
}

/// The lane and what has run on it.
pub struct Episodes {
    lane: Sequential<BoxedBackend>,
    store: StoreName,
    profile: &'static Profile,
    generator: Generator,
    seed: u64,
    /// How many have begun, and so the number of the next one.
    begun: u64,
    started: Instant,
    elapsed: Duration,
}

impl Episodes {
    /// A lane on a fresh namespace, on which nothing has run yet.
    ///
    /// # Errors
    /// That the store cannot be used.
    pub async fn open(
        stores: &Stores,
        store: StoreName,
        profile: &'static Profile,
        seed: u64,
    ) -> Result<Self, BackendError> {
        let backend = stores.namespaces().fresh().await?;
        let lane = Sequential::open(backend, profile.writers, Options::default()).await?;
        let generator = Generator::new(profile);
        let (started, elapsed) = (Instant::now(), Duration::ZERO);
        Ok(Episodes { lane, store, profile, generator, seed, begun: 0, started, elapsed })
    }

    /// Runs episodes until something ends it.
    pub async fn run(&mut self, limit: Limit, signals: &Signals) -> End {
        let mut progress = Progress::of(limit.length());
        loop {
            self.elapsed = self.started.elapsed();
            let done = self.lane.tally().total();
            progress.show(limit.position(done, self.elapsed), || self.line(done));
            if let Some(signal) = signals.received() {
                return End::Signal(signal);
            }
            let operations = limit.rest(done, self.elapsed).min(self.profile.operations.into());
            if operations == 0 {
                return End::Limit;
            }
            let episode = self.begun;
            self.begun += 1;
            let outcome = tokio::select! {
                biased;
                outcome = self.episode(episode, operations, signals) => outcome,
                signal = signals.out_of_patience() => return End::Signal(signal),
            };
            match outcome {
                Ok(()) => {}
                Err(EpisodeError::Violation(violation)) => {
                    let mut schedule = self.lane.recorded();
                    schedule.origin = Some(self.origin(episode));
                    let failing = Failing { schedule, violation: *violation };
                    return End::Violation { failing, episode };
                }
                Err(error) => return End::Trouble { error, episode },
            }
        }
    }

    async fn episode(
        &mut self,
        number: u64,
        operations: u64,
        signals: &Signals,
    ) -> Result<(), EpisodeError> {
        let seed = seeds::of_episode(self.seed, number);
        tracing::debug!(number, seed, operations, "episode");
        self.generator.begin_episode(number);
        let source = Generated {
            generator: &mut self.generator,
            choices: &mut SmallRng::seed_from_u64(seed),
            remaining: operations,
        };
        let reopen = number.is_multiple_of(REOPENS);
        self.lane.set_options(Options { observe: false, reopen });
        self.lane.episode(&mut UntilSignal { source, signals }).await
    }

    fn origin(&self, episode: u64) -> Origin {
        Origin {
            lane: "schedule".to_owned(),
            store: self.store.to_string(),
            profile: self.profile.name.to_owned(),
            seed: self.seed,
            episode,
        }
    }

    fn line(&self, operations: u64) -> String {
        let rate = rate(operations, self.elapsed);
        let (operations, episodes) =
            (counted(operations, "operation"), counted(self.begun, "episode"));
        format!("{operations} in {episodes}, {rate} a second")
    }

    /// Closes the store; answers what ran.
    pub async fn close(mut self) -> Ran {
        self.elapsed = self.started.elapsed();
        let (episodes, elapsed) = (self.begun, self.elapsed);
        let tally = self.lane.tally().clone();
        match tokio::time::timeout(CLOSING, self.lane.into_backend().remove()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the store did not go"),
            Err(_) => tracing::warn!("the store did not go within {CLOSING:?}"),
        }
        Ran { episodes, elapsed, tally }
    }
}

/// Operations until a signal arrives: the episode ends early, with every check.
struct UntilSignal<'a, S> {
    source: S,
    signals: &'a Signals,
}

impl<S: Source> Source for UntilSignal<'_, S> {
    fn next(&mut self, model: &StoreModel) -> Option<Entry> {
        match self.signals.received() {
            Some(_) => None,
            None => self.source.next(model),
        }
    }
}

/// Operations per second.
pub fn rate(operations: u64, elapsed: Duration) -> u64 {
    (operations as f64 / elapsed.as_secs_f64().max(0.001)).round() as u64
}

impl Limit {
    /// How many operations may still be run.
    fn rest(self, operations: u64, elapsed: Duration) -> u64 {
        match self {
            Limit::Operations(limit) => limit.saturating_sub(operations),
            Limit::Time(limit) if elapsed < limit => u64::MAX,
            Limit::Time(_) => 0,
        }
    }

    /// The limit as a number, and where a run is on the way to it.
    fn length(self) -> u64 {
        self.position(u64::MAX, Duration::MAX)
    }

    fn position(self, operations: u64, elapsed: Duration) -> u64 {
        match self {
            Limit::Operations(limit) => operations.min(limit),
            Limit::Time(limit) => elapsed.min(limit).as_millis().try_into().unwrap_or(u64::MAX),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Operations(limit) => write!(formatter, "{limit} operations"),
            Limit::Time(limit) => write!(formatter, "for {}", humantime::format_duration(*limit)),
        }
    }
}

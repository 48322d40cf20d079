//! The loop: an episode runs, is judged and is counted, and then the next one.
//!
//! Nothing of an episode is kept but its counts, unless it failed, so that a run of any
//! length needs the same memory.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use stagefault_models::checker::Spent;
use stagefault_models::{BoxedNamespaces, Origin};
use stagefault_properties::concurrent::{self, Episode, Judgement, Plan, judge, within};
use stagefault_properties::violation::EpisodeError;

use super::documents::{Bound, Chaos, LaneRun, Resolved, signature};
use super::failures::{Failures, kind_of};
use super::journal::{Found, Journal, Line, Seen, Total, see};
use super::outcome::Ending;
use crate::Context;
use crate::episodes::rate;
use crate::error::CommandError;
use crate::progress::Progress;
use crate::report::counted;
use crate::seeds;

/// How often the journal gets a line.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// The most that is spent on judging an episode.
const TIME: Duration = Duration::from_secs(60);
const BYTES: usize = 1 << 30;

/// A run of the concurrent lane that is under way.
pub struct Episodes<'a> {
    context: Context<'a>,
    run: &'a LaneRun,
    lane: concurrent::Lane<'a, BoxedNamespaces>,
    journal: Journal,
    failures: Failures<'a>,
    /// All that was counted, by earlier processes too, but for what is pending.
    total: Total,
    /// What the journal does not have yet.
    pending: Line,
    /// When this process began, less what earlier ones had done.
    began: Instant,
    written: Instant,
}

impl<'a> Episodes<'a> {
    /// Nothing has run yet, but for what the journal has.
    pub fn new(
        run: &'a LaneRun,
        resolved: &Resolved,
        namespaces: &'a BoxedNamespaces,
        journal: (Journal, Total),
        failures: Failures<'a>,
        context: Context<'a>,
    ) -> Self {
        let profile = resolved.profile;
        let plan = Plan { profile, writers: run.writers, by_turns: run.by_turns(), swarm: true };
        let available = run.chaos.map(Chaos::available);
        let lane = concurrent::Lane::new(namespaces, plan).with_faults(available);
        let (journal, total) = journal;
        let now = Instant::now();
        let mut pending = Line { first: total.episodes, ..Line::default() };
        // Kept by a process that was killed before the journal had them.
        pending.failures.extend(failures.not_among(&total.failures));
        let began = now.checked_sub(total.elapsed).unwrap_or(now);
        Episodes { context, run, lane, journal, failures, total, pending, began, written: now }
    }

    /// Runs episodes until something ends it, and leaves everything in the journal.
    ///
    /// # Errors
    /// That the folder cannot be written.
    pub async fn run(mut self) -> Result<Ending, CommandError> {
        let ending = self.until_it_ends().await;
        let written = self.write_line();
        match tokio::time::timeout(Duration::from_secs(5), self.lane.renew()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the store did not go"),
            Err(_) => tracing::warn!("the store did not go in time"),
        }
        written?;
        ending
    }

    async fn until_it_ends(&mut self) -> Result<Ending, CommandError> {
        let mut progress = Progress::of(self.progress().1);
        loop {
            progress.show(self.progress().0, || self.line());
            if let Some(signal) = self.context.signals.received() {
                return Ok(Ending { signal: Some(signal), error: None });
            }
            let (position, end) = self.progress();
            let failures = self.total.failures.len() + self.pending.failures.len();
            if position >= end || failures as u64 >= self.run.max_failures {
                return Ok(Ending::default());
            }
            let number = self.run.shard.episode(self.total.episodes + self.pending.episodes);
            match self.episode(number).await? {
                Ok(()) => {}
                Err(Stop::Signal(signal)) => {
                    return Ok(Ending { signal: Some(signal), error: None });
                }
                Err(Stop::Trouble(error)) => {
                    let error = format!("episode {number} of seed {}: {error}", self.run.seed);
                    return Ok(Ending { signal: None, error: Some(error) });
                }
            }
            if self.written.elapsed() >= LINE_EVERY {
                self.write_line()?;
            }
        }
    }

    /// Runs one episode to its end, whatever is found.
    async fn episode(&mut self, number: u64) -> Result<Result<(), Stop>, CommandError> {
        let seed = seeds::of_episode(self.run.seed, number);
        tracing::debug!(number, seed, "episode");
        let signals = self.context.signals;
        let outcome = tokio::select! {
            biased;
            outcome = self.lane.run(number, seed) => outcome,
            signal = signals.out_of_patience() => return Ok(Err(Stop::Signal(signal))),
        };
        let mut episode = match outcome {
            Ok(episode) => episode,
            Err(error) => return Ok(Err(Stop::Trouble(error))),
        };
        episode.schedule.origin = Some(self.origin(number));
        let judgement = judge(&episode, self.budget());
        if let (Judgement::Undecided(_), Some(signal)) = (&judgement, signals.received()) {
            return Ok(Err(Stop::Signal(signal)));
        }
        self.pending.episodes += 1;
        self.pending.counted.add(&self.lane.take_tallies());
        self.pending.counted.fired.count(&episode, &judgement);
        match signature(&judgement, kind_of(&episode, &judgement)) {
            None => Ok(Ok(())),
            Some(signature) => {
                // The namespace holds what the failure left.
                if let Err(error) = self.lane.renew().await {
                    return Ok(Err(Stop::Trouble(error)));
                }
                let known = self.run.known.contains(&signature);
                if known {
                    see(&mut self.pending.known, Seen { times: 1, signature });
                } else if !self.has_failure_of(number) {
                    self.keep(number, &episode, &judgement).await?;
                }
                Ok(Ok(()))
            }
        }
    }

    /// Whether this episode's failure was kept by a process that was killed then.
    fn has_failure_of(&self, episode: u64) -> bool {
        let mut all = self.total.failures.iter().chain(&self.pending.failures);
        all.any(|found| found.episode == episode)
    }

    /// Keeps what failed, first in the folder, then in the journal, and then shrinks it.
    async fn keep(
        &mut self,
        number: u64,
        episode: &Episode,
        judgement: &Judgement,
    ) -> Result<(), CommandError> {
        let document = self.failures.write(number, episode, judgement)?;
        let found =
            Found { number: document.number, episode: number, signature: document.signature() };
        self.pending.failures.push(found);
        self.write_line()?;
        let rest = match self.run.limit {
            Bound::Operations(_) => None,
            Bound::Milliseconds(limit) => {
                Some(Duration::from_millis(limit).saturating_sub(self.began.elapsed()))
            }
        };
        self.failures.shrink(document, episode, rest).await
    }

    /// The budget for judging; a signal ends it too.
    fn budget(&self) -> impl FnMut(&Spent) -> ControlFlow<String> {
        let mut budget = within(TIME, BYTES);
        let signals = self.context.signals;
        move |spent| match signals.received() {
            Some(signal) => ControlFlow::Break(format!("interrupted by {}", signal.name())),
            None => budget(spent),
        }
    }

    fn write_line(&mut self) -> Result<(), CommandError> {
        self.written = Instant::now();
        if self.pending.is_empty() {
            return Ok(());
        }
        let elapsed = self.began.elapsed().as_millis();
        self.pending.milliseconds = u64::try_from(elapsed).unwrap_or(u64::MAX);
        self.journal.write(&self.pending)?;
        self.total.add(&self.pending);
        self.pending = Line { first: self.total.episodes, ..Line::default() };
        Ok(())
    }

    fn origin(&self, episode: u64) -> Origin {
        Origin {
            lane: if self.run.chaos.is_some() { "chaos" } else { "concurrent" }.to_owned(),
            store: self.run.store.to_string(),
            profile: self.run.profile.clone(),
            seed: self.run.seed,
            episode,
        }
    }

    fn operations(&self) -> u64 {
        self.total.operations() + self.pending.counted.completions.total()
    }

    fn progress(&self) -> (u64, u64) {
        self.run.limit.progress(self.operations(), self.began.elapsed())
    }

    fn line(&self) -> String {
        let operations = self.operations();
        let failures = self.total.failures.len() + self.pending.failures.len();
        let found = match failures {
            0 => String::new(),
            some => format!(", {}", counted(some as u64, "failure")),
        };
        format!(
            "{} in {}, {} a second{found}",
            counted(operations, "operation"),
            counted(self.total.episodes + self.pending.episodes, "episode"),
            rate(operations, self.began.elapsed()),
        )
    }
}

/// Why no further episode runs.
enum Stop {
    Signal(crate::signals::Signal),
    Trouble(EpisodeError),
}

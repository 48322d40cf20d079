//! `stagefault run`: the sequential lane, episode after episode, and what it leaves behind.
//!
//! The story is here; `failure.rs` has what happens to a violation. Once `run.json` is
//! written, the store's files are removed and `summary.json` says how it ended, whatever
//! happens. With several writers it is the concurrent lane, in `concurrent.rs`.

mod concurrent;
mod failure;

use std::time::{Duration, SystemTime};

use crate::artifacts::RunFolder;
use crate::cli::RunArguments;
use crate::documents::{RunDocument, Subject, Summary, to_json};
use crate::episodes::{End, Episodes, Limit};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::stores::Stores;
use crate::{Context, print, report, seeds};

/// How long a run goes on when nothing is said.
const USUALLY: Duration = Duration::from_secs(60);

/// Runs episodes until the limit, a violation or a signal.
///
/// # Errors
/// That the run could not begin, could not go on, or could not say how it ended.
pub async fn run(arguments: &RunArguments, context: Context<'_>) -> Result<Exit, CommandError> {
    if arguments.is_concurrent() || arguments.concurrent.resume.is_some() {
        return concurrent::run(arguments, context).await;
    }
    arguments.concurrent.expect_none()?;
    let Context { signals, postgres } = context;
    // Before anything is made on disk.
    postgres.expect_use([arguments.store])?;
    arguments.choice().flaws()?;
    let subject = subject(arguments)?;
    let limit = limit(arguments);
    let mut folder = RunFolder::make(arguments.out.as_deref(), subject.started, subject.seed)?;
    let stores = Stores::within(folder.path(), arguments.choice(), postgres).await?;
    let mut episodes =
        Episodes::open(&stores, arguments.store, arguments.profile(), subject.seed).await?;
    if let Err(error) = folder.begin(&to_json(&RunDocument::of(&subject))) {
        episodes.close().await;
        return Err(error);
    }
    print::note(report::opening(&subject, &limit.to_string(), folder.path()));

    let end = episodes.run(limit, signals).await;
    let summary = Summary::of(subject, episodes.close().await, folder.path());
    let mut ending = Ending { arguments, folder, summary, story: None };
    let verdict = ending.judge(end, &stores, context).await;
    // Before anything else is written, for the store may be what fills the disk.
    stores.remove();
    let said = ending.say();
    match verdict {
        // What was found is not to be hidden by a disk that is full.
        Ok(Exit::Violation) | Err(_) => {
            print::or_say(said);
            verdict
        }
        Ok(_) => said.and(verdict),
    }
}

/// When the run ends by itself.
fn limit(arguments: &RunArguments) -> Limit {
    match arguments.ops {
        Some(operations) => Limit::Operations(operations),
        None => Limit::Time(arguments.duration.unwrap_or(USUALLY)),
    }
}

fn subject(arguments: &RunArguments) -> Result<Subject, CommandError> {
    let seed = seed(arguments)?;
    Ok(Subject {
        store: arguments.store.as_str(),
        flaw: arguments.flaw.map(|flaw| flaw.name()),
        profile: arguments.profile().name,
        seed,
        started: SystemTime::now(),
    })
}

/// The seed that is named, or a random one.
fn seed(arguments: &RunArguments) -> Result<u64, CommandError> {
    arguments.seed.map_or_else(seeds::random, Ok).map_err(|error| CommandError::System {
        doing: "draw a random seed (name one with --seed)",
        reason: error.to_string(),
    })
}

/// A run that has ended, and what is to be said of it.
struct Ending<'a> {
    arguments: &'a RunArguments,
    folder: RunFolder,
    summary: Summary,
    /// What became of the violation, for a reader.
    story: Option<String>,
}

impl Ending<'_> {
    /// Follows up on how the run ended, and says it in the summary.
    async fn judge(
        &mut self,
        end: End,
        stores: &Stores,
        context: Context<'_>,
    ) -> Result<Exit, CommandError> {
        match end {
            End::Limit => Ok(Exit::Held),
            End::Signal(signal) => {
                self.summary.was_interrupted(signal);
                Ok(Exit::Interrupted(signal))
            }
            End::Violation { failing, episode } => {
                let choice = self.arguments.choice();
                let found = failure::Found { folder: &self.folder, choice, episode, failing };
                let json = self.arguments.json;
                let (failure, story) = found.conclude(stores.namespaces(), context, json).await;
                self.summary.failed(failure);
                self.story = Some(story);
                Ok(Exit::Violation)
            }
            End::Trouble { error, episode } => {
                let place = format!("episode {episode} of seed {}", self.summary.subject.seed);
                let error = CommandError::Episode { place, error };
                self.summary.could_not_go_on(&error);
                Err(error)
            }
        }
    }

    /// Writes and prints how the run ended; prints it also when it cannot be written.
    fn say(&self) -> Result<(), CommandError> {
        let document = to_json(&self.summary);
        let written = self.folder.write("summary.json", &document).map(drop);
        let printed = if self.arguments.json {
            print::result(document.trim_end())
        } else {
            let story = self.story.as_deref().map(|story| format!("\n\n{story}"));
            let story = story.unwrap_or_default();
            print::result(format_args!("{}{story}", report::summary(&self.summary)))
        };
        written.and(printed)
    }
}

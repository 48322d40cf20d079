//! What happens to an episode that failed: kept as it was recorded, shrunk, explained.
//!
//! Everything that was recorded is on disk before shrinking begins. What shrinking comes
//! to is added; where the failure is not seen again, the recorded history and its
//! explanation are what there is of it, and that is said.

use std::fs;
use std::time::Duration;

use stagefault_models::BoxedNamespaces;
use stagefault_properties::concurrent::{End, Episode, Judgement, Stopped};
use stagefault_properties::shrink::Failing;

use super::documents::{FailureDocument, ShrinkingDocument};
use super::folder::read_failures;
use super::journal::Found;
use super::signature::Kind;
use crate::artifacts::RunFolder;
use crate::documents::{ViolationFormat, to_json};
use crate::error::CommandError;
use crate::shrinking;
use crate::stores::Choice;
use crate::{Context, print, report};

/// One failure is shrunk by so many candidates and for so long at most: the night goes on.
const ATTEMPTS: u32 = 5_000;
const TIME: Duration = Duration::from_secs(300);

/// What it is shrunk for also when the run's own time is over.
const TIME_AT_LEAST: Duration = Duration::from_secs(20);

/// The folder `failures` of a run.
pub struct Failures<'a> {
    folder: &'a RunFolder,
    choice: Choice,
    namespaces: &'a BoxedNamespaces,
    context: Context<'a>,
    /// Those that were there when the run began.
    there: Vec<Found>,
    next: u64,
}

impl<'a> Failures<'a> {
    /// The folder, which may hold failures.
    ///
    /// # Errors
    /// That one of them is damaged.
    pub fn open(
        folder: &'a RunFolder,
        choice: Choice,
        namespaces: &'a BoxedNamespaces,
        context: Context<'a>,
    ) -> Result<Self, CommandError> {
        let there = read_failures(folder.path())?;
        let there: Vec<Found> = there.iter().map(|(_, failure)| found(failure)).collect();
        let next = highest(folder) + 1;
        Ok(Failures { folder, choice, namespaces, context, there, next })
    }

    /// The failures that were there when the run began, and are not among these.
    pub fn not_among(&self, those: &[Found]) -> Vec<Found> {
        let numbers: Vec<u64> = those.iter().map(|found| found.number).collect();
        self.there.iter().filter(|found| !numbers.contains(&found.number)).copied().collect()
    }

    /// Writes what was recorded, all of it before this returns.
    ///
    /// # Errors
    /// [`CommandError::Write`].
    pub fn write(
        &mut self,
        number: u64,
        episode: &Episode,
        judgement: &Judgement,
    ) -> Result<FailureDocument, CommandError> {
        let mut document = self.document(number, episode, judgement);
        self.next += 1;
        let path = self.write_file(&document, "schedule.json", &episode.schedule.to_json())?;
        document.replay = report::replay_command(&path, self.choice, self.context.postgres);
        self.write_file(&document, "history.jsonl", &episode.history.to_json_lines())?;
        self.write_file(&document, "explanation.txt", &text(&document))?;
        // Last: with it the failure counts.
        self.write_file(&document, "violation.json", &to_json(&document))?;
        let signature = document.signature();
        print::note(format_args!("failure {} in episode {number}: {signature}", document.number));
        Ok(document)
    }

    fn document(&self, number: u64, episode: &Episode, judgement: &Judgement) -> FailureDocument {
        let kind = kind_of(episode, judgement);
        let mut document = FailureDocument {
            format: ViolationFormat::Version1,
            number: self.next,
            episode: number,
            kind,
            invariant: None,
            index: None,
            operation: None,
            explanation: Vec::new(),
            recorded_operations: episode.schedule.operations.len(),
            shrinking: None,
            replay: String::new(),
        };
        match judgement {
            Judgement::Holds { .. } => {}
            Judgement::Undecided(why) => document.explanation.push(why.clone()),
            Judgement::Violation(violation) => {
                document.invariant = Some(violation.invariant);
                document.index = violation.index;
                document.operation = violation.operation;
                document.explanation.clone_from(&violation.explanation);
            }
        }
        document
    }

    /// Shrinks what was written, within the rest of the run's time, and adds what that
    /// comes to.
    ///
    /// # Errors
    /// [`CommandError::Write`].
    pub async fn shrink(
        &self,
        mut document: FailureDocument,
        episode: &Episode,
        rest: Option<Duration>,
    ) -> Result<(), CommandError> {
        let Some(violation) = document.violation() else { return Ok(()) };
        let time = rest.map_or(TIME, |rest| rest.clamp(TIME_AT_LEAST, TIME));
        let operations = report::counted(document.recorded_operations as u64, "operation");
        print::note(format_args!("shrinking {operations}"));
        let recorded = Failing { schedule: episode.schedule.clone(), violation };
        let Context { signals, postgres } = self.context;
        let shrinking = shrinking::Shrink { limit: ATTEMPTS, time: Some(time), signals };
        let shrinking = shrinking.of(self.namespaces, recorded.clone()).await;
        let mut path = self.folder.path().join(name(&document, "schedule.json"));
        if shrinking.was_seen_again() {
            let schedule = &shrinking.best.schedule;
            path = self.write_file(&document, "shrunk.json", &schedule.to_json())?;
        }
        document.replay = report::replay_command(&path, self.choice, postgres);
        document.shrinking = Some(ShrinkingDocument {
            how: shrinking.how(),
            operations: shrinking
                .was_seen_again()
                .then_some(shrinking.best.schedule.operations.len()),
            hits: shrinking.hits,
        });
        let story = report::shrunk(&recorded, &shrinking, &document.replay, postgres);
        let whole = format!("{}\n{story}\n", text(&document));
        self.write_file(&document, "explanation.txt", &whole)?;
        self.write_file(&document, "violation.json", &to_json(&document))?;
        print::note(story);
        Ok(())
    }

    fn write_file(
        &self,
        document: &FailureDocument,
        file: &str,
        text: &str,
    ) -> Result<std::path::PathBuf, CommandError> {
        self.folder.write(&name(document, file), text)
    }
}

fn name(document: &FailureDocument, file: &str) -> String {
    format!("failures/{}/{file}", document.number)
}

fn found(failure: &FailureDocument) -> Found {
    let FailureDocument { number, episode, .. } = *failure;
    Found { number, episode, signature: failure.signature() }
}

/// What was found, for a reader.
fn text(document: &FailureDocument) -> String {
    let explanation = document.explanation.join("\n  ");
    let signature = document.signature();
    format!("episode {}: {signature}\n  {explanation}\n", document.episode)
}

/// The highest number in the folder, also of a failure that a crash cut off.
fn highest(folder: &RunFolder) -> u64 {
    let Ok(entries) = fs::read_dir(folder.path().join("failures")) else { return 0 };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.max().unwrap_or(0)
}

/// How the episode failed, if it did.
pub fn kind_of(episode: &Episode, judgement: &Judgement) -> Kind {
    match (&episode.end, judgement) {
        (_, Judgement::Undecided(_)) => Kind::Undecided,
        (End::Stopped(_, Stopped::Hung), _) => Kind::Hang,
        (End::Stopped(_, Stopped::Panicked(_)), _) => Kind::Panic,
        (End::Stopped(_, Stopped::Failed(_)), _) => Kind::Failing,
        (End::Whole(_), Judgement::Violation(violation)) if violation.operation.is_none() => {
            Kind::Rows
        }
        (End::Whole(_), _) => Kind::Order,
    }
}

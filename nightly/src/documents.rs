//! The JSON documents in a run's folder, beside the schedules.
//!
//! Each names its format and version first, as a schedule does, so that a reader knows
//! what it holds; `replay` leaves them out when it looks for schedules in a folder.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use stagefault_properties::tally::Tally;
use stagefault_properties::violation::Violation;

use crate::episodes::{Ran, rate};
use crate::error::CommandError;
use crate::secrets;
use crate::signals::Signal;

/// `run.json`: what was asked for, written before the first operation.
#[derive(Debug, Serialize)]
pub struct RunDocument<'a> {
    pub format: RunFormat,
    /// The version of stagefault.
    pub version: &'static str,
    /// The command and its arguments, without passwords.
    pub command: Vec<String>,
    #[serde(flatten)]
    pub subject: &'a Subject,
}

impl<'a> RunDocument<'a> {
    /// The document of this process's run.
    pub fn of(subject: &'a Subject) -> Self {
        RunDocument {
            format: RunFormat::Version1,
            version: env!("CARGO_PKG_VERSION"),
            command: secrets::command_line(),
            subject,
        }
    }
}

/// What a run is about.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    pub store: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flaw: Option<&'static str>,
    pub profile: &'static str,
    pub seed: u64,
    /// UTC, as in `2026-01-02T03:04:05Z`.
    #[serde(serialize_with = "as_utc")]
    pub started: SystemTime,
}

/// `summary.json`, and what `--json` prints: how it went.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub format: SummaryFormat,
    pub outcome: Outcome,
    #[serde(flatten)]
    pub subject: Subject,
    /// The signal that ended it early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<&'static str>,
    /// Why it could not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub episodes: u64,
    pub operations: u64,
    /// Without the time for shrinking.
    #[serde(serialize_with = "as_seconds", rename = "seconds")]
    pub elapsed: Duration,
    pub operations_per_second: u64,
    /// Operation × completion, as counts that are not zero.
    pub completions: Tally,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The run's folder.
    pub artifacts: PathBuf,
}

impl Summary {
    /// The summary of a run that held.
    pub fn of(subject: Subject, ran: Ran, folder: &Path) -> Self {
        let Ran { episodes, elapsed, tally } = ran;
        let operations = tally.total();
        Summary {
            format: SummaryFormat::Version1,
            outcome: Outcome::Held,
            subject,
            signal: None,
            error: None,
            episodes,
            operations,
            elapsed,
            operations_per_second: rate(operations, elapsed),
            completions: tally,
            failure: None,
            artifacts: folder.to_owned(),
        }
    }

    /// A signal ended the run.
    pub fn was_interrupted(&mut self, signal: Signal) {
        self.outcome = Outcome::Interrupted;
        self.signal = Some(signal.name());
    }

    /// The store broke the contract.
    pub fn failed(&mut self, failure: Failure) {
        self.outcome = Outcome::Violation;
        self.failure = Some(failure);
    }

    /// The store could not be used.
    pub fn could_not_go_on(&mut self, error: &CommandError) {
        self.outcome = Outcome::CouldNotGoOn;
        self.error = Some(error.to_string());
    }
}

/// A failure, in the summary.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The episode that failed.
    pub episode: u64,
    /// As it was found.
    pub violation: Violation,
    /// How many operations the recorded schedule has.
    pub recorded_operations: usize,
    /// How many the shrunk one has; absent: shrinking did not see the failure again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrunk_operations: Option<usize>,
    /// The one command that replays it.
    pub replay: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Held,
    Violation,
    Interrupted,
    CouldNotGoOn,
}

/// `violation.json`: what was found, written before shrinking begins.
#[derive(Debug, Serialize)]
pub struct ViolationDocument<'a> {
    pub format: ViolationFormat,
    #[serde(flatten)]
    pub violation: &'a Violation,
}

impl<'a> ViolationDocument<'a> {
    /// The document of this violation.
    pub fn of(violation: &'a Violation) -> Self {
        ViolationDocument { format: ViolationFormat::Version1, violation }
    }
}

/// The format's name as a type.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum RunFormat {
    #[serde(rename = "stagefault.run/1")]
    Version1,
}

/// The format's name as a type.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum SummaryFormat {
    #[serde(rename = "stagefault.summary/1")]
    Version1,
}

/// The format's name as a type.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum ViolationFormat {
    #[serde(rename = "stagefault.violation/1")]
    Version1,
}

/// The document as text.
pub fn to_json(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document).expect("the documents' keys are strings");
    text + "\n"
}

fn as_utc<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_seconds(*time))
}

/// A time as a number of seconds.
pub fn as_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // To the millisecond; more figures would only be noise.
    serializer.serialize_f64((time.as_secs_f64() * 1000.0).round() / 1000.0)
}

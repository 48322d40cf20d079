//! What a person reads at the end: the summary of a run, a failure, a schedule.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use stagefault_models::Schedule;
use stagefault_properties::shrink::Failing;

use crate::documents::{Outcome, Subject, Summary};
use crate::postgres::Postgres;
use crate::print;
use crate::shrinking::{End, Shrinking};
use crate::stores::{Choice, StoreName};

/// Schedules are shown up to this many operations, each up to so many characters.
const MOST_OPERATIONS: usize = 40;
const MOST_CHARACTERS: usize = 200;

/// The summary of a run.
pub fn summary(summary: &Summary) -> String {
    let subject = &summary.subject;
    let flaw = subject.flaw.map(|flaw| format!(", flaw {flaw}")).unwrap_or_default();
    let by = summary.signal.map(|signal| format!(" by {signal}, held until then"));
    format!(
        "{outcome}{by}: {operations} in {episodes} in {time}, {rate} a second\n\n\
         {pairs} pairs of operation × completion were met:\n{completions}\n\
         store {store}{flaw}, profile {profile}, seed {seed}\nartifacts in {artifacts}",
        outcome = summary.outcome.as_str(),
        by = by.unwrap_or_default(),
        operations = counted(summary.operations, "operation"),
        episodes = counted(summary.episodes, "episode"),
        time = seconds(summary.elapsed),
        rate = summary.operations_per_second,
        pairs = summary.completions.iter().count(),
        completions = summary.completions,
        store = subject.store,
        profile = subject.profile,
        seed = subject.seed,
        artifacts = summary.artifacts.display(),
    )
}

/// Such as `1 episode` or `2 episodes`.
pub fn counted(number: u64, name: &str) -> String {
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

/// A time, for a reader.
pub fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(100) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
    }
}

/// How a shrink went, what it came to, and how to see that again.
pub fn shrunk(
    recorded: &Failing,
    shrinking: &Shrinking,
    replay: &str,
    postgres: &Postgres,
) -> String {
    let (before, after) = (size(&recorded.schedule), size(&shrinking.best.schedule));
    let how = shrinking.how();
    let hits = shrinking.hits.map(|hits| format!("\nit {hits}")).unwrap_or_default();
    format!(
        "{how}: {before} → {after}{hits}\n{operations}\n{violation}\n\nreplay it: {replay}{password}",
        operations = operations(&shrinking.best.schedule),
        violation = shrinking.best.violation,
        password = if postgres.lacks_password() {
            "\n(the password is left out: set PGPASSWORD)"
        } else {
            ""
        },
    )
}

impl Shrinking {
    /// How it went, in words.
    pub fn how(&self) -> String {
        let attempts = counted(self.attempts.into(), "attempt");
        match &self.end {
            End::Done => format!("shrunk in {attempts}"),
            End::Exhausted => format!("shrunk in {attempts}, which is the limit"),
            End::Interrupted(signal) => {
                format!("shrinking was interrupted by {} after {attempts}", signal.name())
            }
            End::Trouble(error) => format!("shrinking ended after {attempts}: {error}"),
            End::Passes => {
                "not shrunk: on a fresh store the same operations held, so what failed here \
             depends on more than them"
                    .to_owned()
            }
            End::NotReproduced(replays) => format!(
                "not shrunk: not seen again in {replays} replays, so what was recorded is all \
             there is of it"
            ),
            End::OutOfTime => format!("shrunk in {attempts}, for as long as there was time"),
        }
    }
}

fn size(schedule: &Schedule) -> String {
    let bytes = schedule.to_json().len();
    format!("{}, {bytes} bytes", counted(schedule.operations.len() as u64, "operation"))
}

/// The operations, one a line.
fn operations(schedule: &Schedule) -> String {
    let mut text = String::new();
    for (index, entry) in schedule.operations.iter().enumerate().take(MOST_OPERATIONS) {
        let operation = serde_json::to_string(&entry.operation).unwrap_or_default();
        let operation = print::cut(&operation, MOST_CHARACTERS);
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {index:>3}  writer {}  {operation}", entry.writer);
    }
    if let Some(more) = schedule.operations.len().checked_sub(MOST_OPERATIONS + 1) {
        let _ = writeln!(text, "  and {} more", more + 1);
    }
    text
}

/// The one command that replays a schedule.
pub fn replay_command(schedule: &Path, choice: Choice, postgres: &Postgres) -> String {
    let path = schedule.to_string_lossy();
    let mut options = choice.options();
    if choice.store == StoreName::Postgres {
        options.extend(postgres.arguments());
    }
    // As this process was called, for `cargo run` puts no `stagefault` where a shell finds it.
    let program = std::env::args().next().unwrap_or_else(|| "stagefault".to_owned());
    let words = [program.as_str(), "replay", &path].into_iter();
    print::shell_line(words.chain(options.iter().map(String::as_str)))
}

/// The line that opens a run.
pub fn opening(subject: &Subject, end: &str, artifacts: &Path) -> String {
    let flaw = subject.flaw.map(|flaw| format!(" with the flaw {flaw}")).unwrap_or_default();
    format!(
        "running {store}{flaw}, profile {profile}, seed {seed}, {end}; artifacts in {artifacts}",
        store = subject.store,
        profile = subject.profile,
        seed = subject.seed,
        artifacts = artifacts.display(),
    )
}

impl Outcome {
    /// The outcome, as a summary begins.
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Held => "held",
            Outcome::Violation => "violation",
            Outcome::Interrupted => "interrupted",
            Outcome::CouldNotGoOn => "could not go on",
        }
    }
}

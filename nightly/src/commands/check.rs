//! `stagefault check`: whether a recorded history is linearizable under the contract.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use stagefault_models::checker::sessions::Explanation;
use stagefault_models::checker::{Reached, Spent, Verdict, check_history};
use stagefault_models::{Completion, History, Id};

use crate::cli::CheckArguments;
use crate::documents::to_json;
use crate::error::{CommandError, HistoryProblem};
use crate::exit::Exit;
use crate::print;
use crate::progress::Progress;
use crate::report::{counted, seconds};
use crate::signals::{Signal, Signals};

/// Checks the history, and prints the verdict with its explanation.
///
/// # Errors
/// That the file is no history, or standard output cannot be written.
pub fn check(arguments: &CheckArguments, signals: &Signals) -> Result<Exit, CommandError> {
    let path = &arguments.file;
    let history =
        read(path).map_err(|problem| CommandError::BadHistory { path: path.clone(), problem })?;
    tracing::info!("checking {}", counted(history.operations.len() as u64, "operation"));
    let mut watch = Watch::of(arguments, signals);
    let verdict = check_history(&history, |spent| watch.look(spent));
    let signal = watch.ended_by;
    let document = Document::of(&history, &verdict, &watch);
    drop(watch.progress);
    let text = if arguments.json {
        to_json(&document).trim_end().to_owned()
    } else {
        format!("{}{}", headline(path, &document), body(&history, &verdict))
    };
    print::result(text.trim_end())?;
    Ok(match (verdict, signal) {
        (Verdict::Linearizable { .. }, _) => Exit::Held,
        (Verdict::Violation(_), _) => Exit::Violation,
        (Verdict::Undecided(_), Some(signal)) => Exit::Interrupted(signal),
        (Verdict::Undecided(_), None) => Exit::Undecided,
    })
}

fn read(path: &Path) -> Result<History, HistoryProblem> {
    let text = String::from_utf8(fs::read(path)?).map_err(|_| HistoryProblem::NotText)?;
    Ok(History::from_json_lines(&text)?)
}

/// Looks at the clock, the memory and the signals while the checker works.
struct Watch<'a> {
    arguments: &'a CheckArguments,
    signals: &'a Signals,
    started: Instant,
    progress: Option<Progress>,
    spent: Spent,
    ended_by: Option<Signal>,
}

impl<'a> Watch<'a> {
    fn of(arguments: &'a CheckArguments, signals: &'a Signals) -> Self {
        let (started, spent) = (Instant::now(), Spent::default());
        Watch { arguments, signals, started, progress: None, spent, ended_by: None }
    }

    fn look(&mut self, spent: &Spent) -> ControlFlow<String> {
        self.spent = *spent;
        let Spent { steps, bytes, decided, partitions } = *spent;
        let progress = self.progress.get_or_insert_with(|| Progress::of(partitions as u64));
        progress.show(decided as u64, || {
            format!("{decided} of {} decided, {steps} steps", counted(partitions as u64, "session"))
        });
        if let Some(signal) = self.signals.received() {
            self.ended_by = Some(signal);
            return ControlFlow::Break(format!("interrupted by {}", signal.name()));
        }
        if self.started.elapsed() >= self.arguments.duration {
            let limit = humantime::format_duration(self.arguments.duration);
            return ControlFlow::Break(format!("it took more than {limit}; --for gives it longer"));
        }
        if bytes as u64 >= self.arguments.memory << 20 {
            let limit = self.arguments.memory;
            return ControlFlow::Break(format!(
                "it needed more than {limit} MiB; --memory gives it more"
            ));
        }
        ControlFlow::Continue(())
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    verdict: &'static str,
    operations: usize,
    sessions: usize,
    steps: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<Found<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undecided: Option<Open<'a>>,
}

/// A violation; operations by their place in the history, from 0.
#[derive(Serialize)]
struct Found<'a> {
    session: &'a Id,
    prefix: &'a [usize],
    stuck: usize,
    expected: &'a Completion,
    seen: Option<&'a Completion>,
}

#[derive(Serialize)]
struct Open<'a> {
    why: &'a str,
    sessions: Vec<OpenSession<'a>>,
}

/// A session without a verdict: of how many of its returns an order was found.
#[derive(Serialize)]
struct OpenSession<'a> {
    session: &'a Id,
    returns: usize,
    of: usize,
}

impl<'a> Document<'a> {
    fn of(history: &'a History, verdict: &'a Verdict<Id, Completion>, watch: &Watch<'_>) -> Self {
        let named = history.operations.iter().filter_map(|recorded| recorded.operation.session());
        let mut document = Document {
            format: "stagefault.check/1",
            verdict: "linearizable",
            operations: history.operations.len(),
            sessions: named.collect::<BTreeSet<_>>().len(),
            steps: watch.spent.steps,
            seconds: (watch.started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            violation: None,
            undecided: None,
        };
        match verdict {
            Verdict::Linearizable { .. } => {}
            Verdict::Violation(violation) => {
                let stuck = &history.operations[violation.stuck];
                document.verdict = "violation";
                document.violation = Some(Found {
                    session: &violation.key,
                    prefix: &violation.prefix,
                    stuck: violation.stuck,
                    expected: &violation.expected,
                    seen: stuck.returned.as_ref().map(|returned| &returned.completion),
                });
            }
            Verdict::Undecided(undecided) => {
                let open = undecided.open.iter();
                let sessions = open.map(|Reached { key, returns, of }| OpenSession {
                    session: key,
                    returns: *returns,
                    of: *of,
                });
                document.verdict = "undecided";
                document.undecided =
                    Some(Open { why: &undecided.why, sessions: sessions.collect() });
            }
        }
        document
    }
}

fn headline(path: &Path, document: &Document<'_>) -> String {
    let Document { verdict, operations, sessions, steps, seconds: time, .. } = document;
    let operations = counted(*operations as u64, "operation");
    let sessions = counted(*sessions as u64, "session");
    let (path, time) = (path.display(), seconds(Duration::from_secs_f64(*time)));
    let steps = counted(*steps, "step");
    format!("{verdict}  {path}  ({operations} on {sessions}, {steps} in {time})\n")
}

/// Why, where there is more to say.
fn body(history: &History, verdict: &Verdict<Id, Completion>) -> String {
    /// The most sessions that are listed.
    const SHOWN: usize = 10;
    match verdict {
        Verdict::Linearizable { .. } => String::new(),
        Verdict::Violation(violation) => format!("\n{}", Explanation { history, violation }),
        Verdict::Undecided(undecided) => {
            let open = &undecided.open;
            let sessions = counted(open.len() as u64, "session");
            let mut text = format!("\n{}\n{sessions} without a verdict:\n", undecided.why);
            for Reached { key, returns, of } in open.iter().take(SHOWN) {
                let _ =
                    writeln!(text, "  {key:?}: an order was found for {returns} of {of} returns");
            }
            if open.len() > SHOWN {
                let _ = writeln!(text, "  and {} more", open.len() - SHOWN);
            }
            text
        }
    }
}

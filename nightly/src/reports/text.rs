//! How a concurrent run went, in words: for a terminal, and as an issue.

use std::fmt::Write;

use stagefault_models::CompletionKind;

use super::matrix;
use crate::lane::documents::{FailureDocument, LaneSummary};
use crate::lane::folder::Results;
use crate::lane::outcome::Outcome;
use crate::print;
use crate::report::{counted, seconds};

/// So many lines of an explanation are shown; the rest is in the folder.
const EXPLANATION: usize = 30;
const CHARACTERS: usize = 300;

/// The summary, as it is printed.
pub fn of(results: &Results, summary: &LaneSummary) -> String {
    let mut text = headline(summary) + "\n\n";
    for failure in &summary.failures {
        text += &failure_text(failure);
        text.push('\n');
    }
    // Writing to a string does not fail.
    let pairs = summary.completions.iter().count();
    let _ = writeln!(text, "{pairs} pairs of operation × completion were met:");
    let _ = writeln!(text, "{}", summary.completions);
    if !summary.real_faults.is_empty() {
        let _ = writeln!(text, "{}", matrix::by_place(&results.total.counted));
    }
    for line in figures(results, summary) {
        let _ = writeln!(text, "{line}");
    }
    let _ = write!(text, "artifacts in {}", summary.artifacts.display());
    text
}

/// The same as Markdown, short enough for an issue.
pub fn issue(results: &Results, summary: &LaneSummary) -> String {
    let mut text = format!("### {}\n\n", headline(summary));
    for line in figures(results, summary) {
        let _ = writeln!(text, "- {line}");
    }
    for failure in &summary.failures {
        let signature = failure.signature();
        let _ = write!(text, "\n#### Failure {}: {signature}\n\n", failure.number);
        let _ = write!(text, "```text\n{}```\n", failure_text(failure));
    }
    text
}

fn headline(summary: &LaneSummary) -> String {
    let by = match (&summary.outcome, summary.ending.signal) {
        (Outcome::Interrupted, Some(signal)) => format!(" by {}, held until then", signal.name()),
        _ => String::new(),
    };
    let error = summary.ending.error.as_ref().map(|error| format!(" ({error})"));
    format!(
        "{outcome}{by}{error}: {operations} in {episodes} in {time}, {rate} a second",
        outcome = summary.outcome,
        error = error.unwrap_or_default(),
        operations = counted(summary.operations, "operation"),
        episodes = counted(summary.episodes, "episode"),
        time = seconds(summary.elapsed),
        rate = summary.operations_per_second,
    )
}

/// A failure: what broke, why, and how to see it again.
fn failure_text(failure: &FailureDocument) -> String {
    let FailureDocument { number, episode, .. } = failure;
    let mut text = format!("failure {number}, episode {episode}: {}\n", failure.signature());
    for line in failure.explanation.iter().take(EXPLANATION) {
        let _ = writeln!(text, "  {}", print::cut(line, CHARACTERS));
    }
    if failure.explanation.len() > EXPLANATION {
        let _ = writeln!(text, "  …");
    }
    let _ = writeln!(text, "{}", shrinking(failure));
    let _ = writeln!(text, "replay it: {}", failure.replay);
    text
}

/// What shrinking came to, in a line.
pub fn shrinking(failure: &FailureDocument) -> String {
    let recorded = counted(failure.recorded_operations as u64, "operation");
    match &failure.shrinking {
        None => format!("recorded with {recorded}; not shrunk"),
        Some(shrinking) => {
            let left = shrinking.operations.map(|left| format!(": {recorded} → {left}"));
            let hits = shrinking.hits.map(|hits| format!("; it {hits}")).unwrap_or_default();
            format!("{}{}{hits}", shrinking.how, left.unwrap_or_default())
        }
    }
}

fn figures(results: &Results, summary: &LaneSummary) -> Vec<String> {
    let mut lines = vec![results.run.subject()];
    if results.run.shard.count > 1 {
        let shards: Vec<String> = summary.shards.iter().map(ToString::to_string).collect();
        lines.push(format!("shard {}", shards.join(", ")));
    }
    let fired = summary.faults.iter().map(|(name, count)| format!("{name} {count}"));
    lines.push(format!("faults that fired: {}", Vec::from_iter(fired).join(", ")));
    let in_doubt: u64 = summary
        .completions
        .iter()
        .filter(|(_, completion, _)| *completion == CompletionKind::Unknown)
        .map(|(_, _, count)| count)
        .sum();
    lines.push(format!("in doubt: {}", counted(in_doubt, "operation")));
    for seen in &summary.known {
        lines.push(format!("known, {} times: {}", seen.times, seen.signature));
    }
    if !summary.below_floor.is_empty() {
        lines.push(format!("never seen: {}", summary.below_floor.lines().join(", ")));
    }
    lines
}

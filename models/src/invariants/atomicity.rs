//! Atomicity: a promote is seen whole or not at all, staging included, and what was
//! refused or not applied changes nothing.

use super::{Observation, Seen};
use crate::model::{Staged, merge};
use crate::{Change, Completion, Id, Operation, Promote, Session};

pub(super) fn breach(observation: &Observation<'_>) -> Option<String> {
    match (observation.completion, observation.operation) {
        (Completion::Refused(_) | Completion::NotApplied(_), _) => changed_something(observation),
        (Completion::Done(_), Operation::Promote(promote)) => {
            promoted_in_part(observation.before?, promote, observation.after)
        }
        (Completion::Done(_), _) => touched_what_promotes_own(observation),
        (Completion::Unknown(_), _) => None,
    }
}

/// A refused operation, or one that was not applied, leaves all that is visible as it was.
fn changed_something(observation: &Observation<'_>) -> Option<String> {
    let claim = observation.completion.kind();
    let changed = match (observation.before, observation.after) {
        (None, None) => return None,
        (None, Some(_)) => vec!["that there is a session"],
        (Some(_), None) => vec!["that there is no session any more"],
        (Some(before), Some(after)) => differences(before, after),
    };
    let changed = list(&changed)?;
    Some(format!("{:?} answered {claim:?} and changed {changed}", observation.operation.kind()))
}

fn differences(before: &Session, after: &Seen) -> Vec<&'static str> {
    let (mut expected, mut found) = (before.snapshot(), after.snapshot.clone());
    // The contract leaves the order of the staged calls free.
    expected.staged.sort_unstable();
    found.staged.sort_unstable();
    named([
        ("the version", expected.version != found.version),
        ("the status", expected.status != found.status),
        ("the state", expected.state != found.state),
        ("the messages", before.messages != after.messages),
        ("the count of messages", expected.message_count != found.message_count),
        ("the staging", expected.staged != found.staged),
        ("the calls", expected.calls != found.calls),
        ("the runs", expected.runs != found.runs),
        ("the interrupt flag", expected.interrupt != found.interrupt),
        ("the expiry", expected.expires_at != found.expires_at),
        ("the last step", expected.last_step != found.last_step),
    ])
}

/// A promote that was done is there in all its parts.
fn promoted_in_part(before: &Session, promote: &Promote, after: Option<&Seen>) -> Option<String> {
    let Some(after) = after else {
        return Some("a promote was done, and the session is gone".to_owned());
    };
    let state = match merge(&before.state, promote.changes.iter().chain(staged(before, promote))) {
        Ok(state) => state,
        Err(key) => return Some(format!("a promote was done in spite of its conflict at {key:?}")),
    };
    let snapshot = &after.snapshot;
    let parts = [
        ("the state", snapshot.state == state),
        ("the status", snapshot.status == promote.status.unwrap_or(before.status)),
        ("the messages", holds_messages(after, promote)),
        ("the cleared staging", snapshot.staged.iter().all(|mark| mark.step != promote.step)),
        ("the closed step", snapshot.last_step.as_ref() == Some(&promote.step)),
        ("the next version", snapshot.version == before.version + 1),
    ];
    let missing = list(&named(parts.map(|(part, there)| (part, !there))))?;
    let there = list(&named(parts)).unwrap_or_else(|| "nothing".to_owned());
    Some(format!("a promote was done in part: {there} can be seen, and not {missing}"))
}

/// The changes staged under the promote's step, by (at, call).
fn staged<'a>(before: &'a Session, promote: &Promote) -> impl Iterator<Item = &'a Change> {
    let staged = before.staged.iter().filter(|((step, _), _)| *step == promote.step);
    let mut calls: Vec<(&Id, &Staged)> = staged.map(|((_, call), staged)| (call, staged)).collect();
    calls.sort_by_key(|(call, staged)| (staged.at, *call));
    calls.into_iter().flat_map(|(_, staged)| staged.changes.iter())
}

fn holds_messages(after: &Seen, promote: &Promote) -> bool {
    promote.messages.iter().all(|message| after.messages.contains(message))
}

/// The promoted state and the last step move by promotes only.
fn touched_what_promotes_own(observation: &Observation<'_>) -> Option<String> {
    let (before, after) = observation.lived_through()?;
    let changed = list(&named([
        ("the promoted state", after.snapshot.state != before.state),
        ("the last promoted step", before.last_step != after.snapshot.last_step),
    ]))?;
    Some(format!("{:?} changed {changed}, which only a promote may", observation.operation.kind()))
}

/// The names that the facts hold for.
fn named<const N: usize>(facts: [(&'static str, bool); N]) -> Vec<&'static str> {
    facts.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect()
}

/// The names as a phrase; `None` when there are none.
fn list(names: &[&str]) -> Option<String> {
    let (last, rest) = names.split_last()?;
    Some(if rest.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", rest.join(", "))
    })
}

//! Coordination: the status, the run list, the interrupt flag and the expiry move by the
//! operations made for them, and by no other.

use super::Observation;
use crate::{Id, Operation, Reply, Session, Snapshot, Status};

pub(super) fn breach(observation: &Observation<'_>) -> Option<String> {
    let (before, after) = observation.lived_through()?;
    let (reply, after) = (observation.reply(), &after.snapshot);
    let done = reply.map(|_| observation.operation);
    status_moved_wrongly(done, before.status, after.status)
        .or_else(|| runs_changed_wrongly(done, &before.runs, &after.runs))
        .or_else(|| turn_misnamed(done?, reply?, &after.runs))
        .or_else(|| interrupt_changed_wrongly(done, before, after))
        .or_else(|| interrupt_misreported(reply?, before))
        .or_else(|| expiry_moved_wrongly(done, before, after))
}

/// A status changes by a compare-and-set, from a status in its set, or by a promote.
fn status_moved_wrongly(done: Option<&Operation>, before: Status, after: Status) -> Option<String> {
    match done {
        Some(Operation::CompareAndSetStatus { from, .. }) if !from.contains(&before) => {
            Some(format!("a status change from {before} was done, which is not in its set"))
        }
        Some(Operation::CompareAndSetStatus { to, .. }) => {
            (after != *to).then(|| format!("the status was set to {to} and is {after}"))
        }
        // Whether a promote's status is there is a part of whether the promote is whole.
        Some(Operation::Promote(promote)) if promote.status == Some(after) => None,
        _ => (after != before)
            .then(|| format!("the status went from {before} to {after}, which nobody asked for")),
    }
}

/// A run is appended when it begins for the first time; the list never changes otherwise.
fn runs_changed_wrongly(done: Option<&Operation>, before: &[Id], after: &[Id]) -> Option<String> {
    let begun = match done {
        Some(Operation::BeginRun { run, .. }) if !before.contains(run) => Some(run),
        _ => None,
    };
    (!before.iter().chain(begun).eq(after))
        .then(|| format!("the runs were {before:?}, began {begun:?}, and are {after:?}"))
}

/// The turn replied is the run's place, from 1.
fn turn_misnamed(done: &Operation, reply: &Reply, runs: &[Id]) -> Option<String> {
    let (Operation::BeginRun { run, .. }, Reply::RunBegun { turn }) = (done, reply) else {
        return None;
    };
    let place = 1 + runs.iter().position(|begun| begun == run)? as u64;
    (*turn != place).then(|| format!("run {run:?} is turn {place}, the reply says {turn}"))
}

/// The flag is set by a request, and taken by who consumes it.
fn interrupt_changed_wrongly(
    done: Option<&Operation>,
    before: &Session,
    after: &Snapshot,
) -> Option<String> {
    let expected = match done {
        Some(Operation::RequestInterrupt { .. }) => true,
        Some(Operation::ConsumeInterrupt { .. }) => false,
        _ => before.interrupt,
    };
    let name = |flag| if flag { "set" } else { "not set" };
    (after.interrupt != expected).then(|| {
        let (found, expected) = (name(after.interrupt), name(expected));
        format!("the interrupt flag is {found} and should be {expected}")
    })
}

/// Exactly who finds the flag set is told that it took it.
fn interrupt_misreported(reply: &Reply, before: &Session) -> Option<String> {
    match reply {
        Reply::Interrupt { taken: true } if !before.interrupt => {
            Some("an interrupt was taken that was not requested, or taken already".to_owned())
        }
        Reply::Interrupt { taken: false } if before.interrupt => {
            Some("an interrupt was requested, and its consumer was told of none".to_owned())
        }
        _ => None,
    }
}

/// The expiry is what the creation or the last touch made it.
fn expiry_moved_wrongly(
    done: Option<&Operation>,
    before: &Session,
    after: &Snapshot,
) -> Option<String> {
    let expected = match done {
        Some(Operation::Touch { expires_at, .. } | Operation::CreateSession { expires_at, .. }) => {
            *expires_at
        }
        _ => before.expires_at,
    };
    let (found, name) =
        (after.expires_at, |at: Option<_>| at.map_or("never".into(), |at| format!("at {at}")));
    (found != expected).then(|| {
        format!("the session expires {} and should expire {}", name(found), name(expected))
    })
}

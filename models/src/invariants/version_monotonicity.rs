//! Version monotonicity: a version never falls, and each success that moves it adds one.
//!
//! Only an operation that was done is asked what it did to the version. One that was
//! refused and raised it all the same broke its word that nothing changed, which is for
//! atomicity to say.

use super::Observation;
use crate::{Operation, Reply, Version};

pub(super) fn breach(observation: &Observation<'_>) -> Option<String> {
    let (before, after) = observation.lived_through()?;
    let (before, after) = (before.version, after.snapshot.version);
    if after < before {
        return Some(format!("the version fell from {before} to {after}"));
    }
    let reply = observation.reply()?;
    accepted_as_stale(observation.operation, before)
        .or_else(|| moved_wrongly(observation.operation, before, after))
        .or_else(|| replied_falsely(reply, after))
}

/// A promote is done only at the version that it expects.
fn accepted_as_stale(operation: &Operation, before: Version) -> Option<String> {
    match operation {
        Operation::Promote(promote) if promote.expected != before => Some(format!(
            "a promote that expected version {} was done at version {before}",
            promote.expected
        )),
        _ => None,
    }
}

/// A promote and a status change add exactly one; nothing else moves the version.
fn moved_wrongly(operation: &Operation, before: Version, after: Version) -> Option<String> {
    let added = match operation {
        Operation::Promote(_) | Operation::CompareAndSetStatus { .. } => 1,
        _ => 0,
    };
    // `after` is what a store said and may be anything, so nothing is added to it.
    (after - before != added).then(|| {
        format!("{:?} moved the version from {before} to {after}", operation.kind())
            + if added == 1 { " instead of adding one" } else { ", which is not its to move" }
    })
}

/// A reply that names the version names the one that is read afterwards.
fn replied_falsely(reply: &Reply, after: Version) -> Option<String> {
    match reply {
        Reply::Created { version }
        | Reply::Promoted { version, .. }
        | Reply::StatusSet { version }
            if *version != after =>
        {
            Some(format!("the reply says version {version}, the session is at {after}"))
        }
        _ => None,
    }
}

//! Staging cleanup: no staged row outlives its promote, discard, session or ttl, none
//! appears for the last promoted step, and none goes missing or changes otherwise.
//!
//! A step is closed only while it is the one promoted last: an older one may be staged
//! and promoted again.

use std::collections::BTreeMap;

use super::Observation;
use crate::{Id, Millis, Operation, Promote, Reply, Session, Stage, StagedMark};

/// What is staged by (step, call), and when.
type Staging<'a> = BTreeMap<(&'a Id, &'a Id), Millis>;

pub(super) fn breach(observation: &Observation<'_>) -> Option<String> {
    cleaned_wrongly(observation).or_else(|| {
        let (before, after) = observation.lived_through()?;
        let (operation, staged) = (observation.operation, &after.snapshot.staged);
        let closed = before.last_step.as_ref();
        let Some(reply) = observation.reply() else { return staged_under(closed, staged) };
        staged_under(closed_by(operation).or(closed), staged)
            .or_else(|| done_under(closed, operation))
            .or_else(|| remains_wrongly(&remaining(before, operation), staged))
            .or_else(|| miscounted(reply, before, operation))
    })
}

/// A cleanup removes a session exactly when it expired, and lists what it removed: the
/// session, or else of its staging what was too old.
fn cleaned_wrongly(observation: &Observation<'_>) -> Option<String> {
    let (Operation::Cleanup { now, .. }, Some(Reply::Cleaned { sessions, staged })) =
        (observation.operation, observation.reply())
    else {
        return None;
    };
    let (id, before) = (observation.session, observation.before);
    let expired = before.is_some_and(|session| session.expires_at.is_some_and(|at| at <= *now));
    if before.is_some() && observation.after.is_some() == expired {
        let fate = if expired { "is still there" } else { "was removed unexpired" };
        return Some(format!("a cleanup was done, and the session {fate}"));
    }
    let listed = sessions.iter().filter(|session| *session == id).count();
    if listed != usize::from(expired) {
        let fate = if expired { "removed" } else { "not removed" };
        return Some(format!("the session was {fate} and is listed {listed} times as removed"));
    }
    let mut listed: Vec<_> =
        staged.iter().filter(|row| row.session == *id).map(|row| (&row.step, &row.call)).collect();
    listed.sort_unstable();
    let removed = match before {
        Some(before) if !expired => removed(before, observation.operation),
        _ => Vec::new(),
    };
    (listed != removed)
        .then(|| format!("{listed:?} are listed as removed staging, {removed:?} had to be removed"))
}

fn closed_by(done: &Operation) -> Option<&Id> {
    match done {
        Operation::Promote(promote) => Some(&promote.step),
        _ => None,
    }
}

/// Nothing is ever staged under the last promoted step.
fn staged_under(closed: Option<&Id>, staged: &[StagedMark]) -> Option<String> {
    let mark = staged.iter().find(|mark| Some(&mark.step) == closed)?;
    Some(format!("{:?} is staged under {:?}, the step promoted last", mark.call, mark.step))
}

/// The last promoted step is neither staged nor promoted again before another one was.
fn done_under(closed: Option<&Id>, operation: &Operation) -> Option<String> {
    match operation {
        Operation::Stage(Stage { step, .. }) | Operation::Promote(Promote { step, .. })
            if Some(step) == closed =>
        {
            Some(format!("{:?} was done under {step:?}, the step promoted last", operation.kind()))
        }
        _ => None,
    }
}

/// What is to be staged after the operation.
fn remaining<'a>(before: &'a Session, operation: &'a Operation) -> Staging<'a> {
    let mut staging: Staging<'_> =
        before.staged.iter().map(|((step, call), staged)| ((step, call), staged.at)).collect();
    match operation {
        Operation::Stage(Stage { step, call, at, .. }) => {
            staging.insert((step, call), *at);
        }
        Operation::Promote(Promote { step, .. }) | Operation::Discard { step, .. } => {
            staging.retain(|(staged_step, _), _| *staged_step != step);
        }
        Operation::Cleanup { now, staging_ttl } => {
            staging.retain(|_, at| at.saturating_add(*staging_ttl) > *now);
        }
        _ => {}
    }
    staging
}

/// What is staged before the operation and not to be afterwards, in byte order.
fn removed<'a>(before: &'a Session, operation: &'a Operation) -> Vec<(&'a Id, &'a Id)> {
    let remaining = remaining(before, operation);
    let staged = before.staged.iter().map(|((step, call), _)| (step, call));
    staged.filter(|row| !remaining.contains_key(row)).collect()
}

fn remains_wrongly(remaining: &Staging<'_>, staged: &[StagedMark]) -> Option<String> {
    let mut found = Staging::new();
    for StagedMark { step, call, at } in staged {
        if found.insert((step, call), *at).is_some() {
            return Some(format!("{call:?} is staged twice under {step:?}"));
        }
        match remaining.get(&(step, call)) {
            None => return Some(format!("{call:?} is staged under {step:?} and should not be")),
            Some(expected) if expected != at => {
                return Some(format!(
                    "{call:?} was staged under {step:?} at {expected} and is there as of {at}"
                ));
            }
            Some(_) => {}
        }
    }
    let (step, call) = remaining.keys().find(|row| !found.contains_key(*row))?;
    Some(format!("what {call:?} staged under {step:?} went missing"))
}

/// The reply counts the staged calls that the promote applied or the discard dropped.
fn miscounted(reply: &Reply, before: &Session, operation: &Operation) -> Option<String> {
    let (Reply::Promoted { applied: counted, .. } | Reply::Discarded { calls: counted }) = reply
    else {
        return None;
    };
    let staged = removed(before, operation).len();
    (*counted != staged as u64)
        .then(|| format!("the reply counts {counted} staged calls, there were {staged}"))
}

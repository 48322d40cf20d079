//! Call lifecycle: pending, then submitted or expired, once; a late submit never counts.

use super::Observation;
use crate::{Call, CallState, Id, Millis, Operation, Reply, Session, Snapshot, Value};

pub(super) fn breach(observation: &Observation<'_>) -> Option<String> {
    swept_wrongly(observation).or_else(|| {
        let (before, after) = observation.lived_through()?;
        let after = &after.snapshot;
        // Who was refused may not resolve a call, so only what was done can excuse a change.
        let done = observation.reply().map(|_| observation.operation);
        done.and_then(|done| accepted_wrongly(done, before, after))
            .or_else(|| {
                let mut calls = before.calls.iter();
                calls.find_map(|(id, call)| changed_wrongly(id, call, after.calls.get(id), done))
            })
            .or_else(|| appeared(before, after, done?))
    })
}

fn accepted_wrongly(done: &Operation, before: &Session, after: &Snapshot) -> Option<String> {
    match done {
        Operation::RegisterCall { call, run, deadline, .. } => {
            registered_wrongly(call, run, *deadline, before, after)
        }
        Operation::SubmitResult { call, run, result, now, .. } => {
            let known = before.calls.get(call);
            submitted_wrongly(call, run, result, *now, known).or_else(|| {
                let kept = after.calls.get(call).map(|call| &call.state);
                let there = matches!(kept, Some(CallState::Submitted(kept)) if kept == result);
                (!there).then(|| format!("the accepted result of call {call:?} is not there"))
            })
        }
        _ => None,
    }
}

/// A call stays, keeps its run and deadline, and is resolved once, by its own operation.
fn changed_wrongly(
    id: &Id,
    before: &Call,
    after: Option<&Call>,
    done: Option<&Operation>,
) -> Option<String> {
    let Some(after) = after else {
        return Some(format!("call {id:?} vanished"));
    };
    if (&after.run, after.deadline) != (&before.run, before.deadline) {
        return Some(format!("call {id:?} changed its run or deadline"));
    }
    let excused = match (&before.state, &after.state) {
        (unchanged, same) if unchanged == same => true,
        // Whether it was submitted in time, by its run and as seen was judged before.
        (CallState::Pending, CallState::Submitted(_)) => {
            matches!(done, Some(Operation::SubmitResult { call, .. }) if call == id)
        }
        (CallState::Pending, CallState::Expired) => {
            matches!(done, Some(Operation::ExpireCalls { now }) if before.deadline <= *now)
        }
        _ => false,
    };
    let (from, to) = (name(&before.state), name(&after.state));
    (!excused).then(|| format!("call {id:?} went from {from} to {to}, which nothing allowed"))
}

/// Calls appear only by being registered.
fn appeared(before: &Session, after: &Snapshot, done: &Operation) -> Option<String> {
    let registers = |id| matches!(done, Operation::RegisterCall { call, .. } if call == id);
    let (id, _) =
        after.calls.iter().find(|(id, _)| !before.calls.contains_key(*id) && !registers(*id))?;
    Some(format!("call {id:?} is there and was never registered"))
}

/// A call registered is there with its run and deadline, and pending if it is new.
fn registered_wrongly(
    id: &Id,
    run: &Id,
    deadline: Millis,
    before: &Session,
    after: &Snapshot,
) -> Option<String> {
    match after.calls.get(id) {
        None => Some(format!("call {id:?} was registered and is not there")),
        Some(call) if (&call.run, call.deadline) != (run, deadline) => {
            Some(format!("call {id:?} was registered and is there with another run or deadline"))
        }
        Some(call) if !before.calls.contains_key(id) && call.state != CallState::Pending => {
            Some(format!("call {id:?} was registered and is {} at once", name(&call.state)))
        }
        Some(_) => None,
    }
}

/// A result is accepted in time and from the call's run, or when the same one is there.
fn submitted_wrongly(
    id: &Id,
    run: &Id,
    result: &Value,
    now: Millis,
    known: Option<&Call>,
) -> Option<String> {
    let because = match known {
        None => "that nobody registered".to_owned(),
        Some(call) if call.run != *run => format!("from run {run:?}, it being of {:?}", call.run),
        Some(Call { state: CallState::Pending, deadline, .. }) if now >= *deadline => {
            format!("at {now}, its deadline being {deadline}")
        }
        Some(Call { state: CallState::Expired, .. }) => "that had expired".to_owned(),
        Some(Call { state: CallState::Submitted(known), .. }) if known != result => {
            "that had another result already".to_owned()
        }
        Some(_) => return None,
    };
    Some(format!("a result was accepted for call {id:?} {because}"))
}

/// A sweep lists exactly the session's calls that it expired, each once, and leaves no
/// call pending that was due.
fn swept_wrongly(observation: &Observation<'_>) -> Option<String> {
    let Operation::ExpireCalls { now } = observation.operation else { return None };
    let Reply::CallsExpired(listed) = observation.reply()? else { return None };
    let due = |call: &Call| call.state == CallState::Pending && call.deadline <= *now;

    let calls = observation.before.into_iter().flat_map(|session| session.calls.iter());
    let expired: Vec<&Id> = calls.filter(|(_, call)| due(call)).map(|(id, _)| id).collect();
    let listed = listed.iter().filter(|listed| listed.session == *observation.session);
    let mut listed: Vec<&Id> = listed.map(|listed| &listed.call).collect();
    listed.sort_unstable();
    if listed != expired {
        return Some(format!("calls {listed:?} are listed as expired, and {expired:?} were due"));
    }
    let (id, _) = observation.after?.snapshot.calls.iter().find(|(_, call)| due(call))?;
    Some(format!("call {id:?} was due when it was swept, and is still pending"))
}

fn name(state: &CallState) -> &'static str {
    match state {
        CallState::Pending => "pending",
        CallState::Submitted(_) => "submitted",
        CallState::Expired => "expired",
    }
}

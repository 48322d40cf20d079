//! The reference: what each operation answers and does to its session.
//!
//! Total, deterministic, and written to be read beside the contract; nothing here is
//! clever. Every function first finds its refusal, in the contract's order, and only then
//! writes, so a refusal changes nothing by construction.

use super::merge::merge;
use super::session::{Session, SessionState, Staged};
use super::sweep;
use crate::{
    Call, CallState, Id, Message, Millis, Operation, Promote, Refusal, Reply, Resolution, Stage,
    Status, Value,
};

type Answer = Result<Reply, Refusal>;

/// Applies one operation to the session that it is about. A sweep acts on this one session.
///
/// # Errors
/// The operation's refusal; the state is then unchanged.
pub fn step(state: &mut SessionState, operation: &Operation) -> Answer {
    operation.validate()?;
    match operation {
        Operation::CreateSession { expires_at, .. } => return create(state, *expires_at),
        Operation::DeleteSession { .. } => return delete(state),
        Operation::ExpireCalls { now } => return Ok(sweep::expire_calls(state, *now)),
        Operation::Cleanup { now, staging_ttl } => {
            return Ok(sweep::cleanup(state, *now, *staging_ttl));
        }
        _ => {}
    }
    match &mut state.session {
        Some(session) => step_within(session, operation),
        None => Err(Refusal::SessionNotFound),
    }
}

/// The operations that need an existing session, and act within it.
fn step_within(session: &mut Session, operation: &Operation) -> Answer {
    match operation {
        Operation::Load { .. } => Ok(Reply::Snapshot(session.snapshot().into())),
        Operation::ReadMessages { offset, limit, .. } => read_messages(session, *offset, *limit),
        Operation::Touch { expires_at, .. } => {
            session.expires_at = *expires_at;
            Ok(Reply::Touched)
        }
        Operation::Stage(stage) => stage_call(session, stage),
        Operation::Discard { step, .. } => discard(session, step),
        Operation::Promote(request) => promote(session, request),
        Operation::AppendMessages { messages, .. } => append_messages(session, messages),
        Operation::CompareAndSetStatus { from, to, .. } => {
            compare_and_set_status(session, from, *to)
        }
        Operation::BeginRun { run, .. } => begin_run(session, run),
        Operation::RequestInterrupt { .. } => {
            session.interrupt = true;
            Ok(Reply::InterruptRequested)
        }
        Operation::ConsumeInterrupt { .. } => {
            Ok(Reply::Interrupt { taken: std::mem::take(&mut session.interrupt) })
        }
        Operation::RegisterCall { call, run, deadline, .. } => {
            register_call(session, call, run, *deadline)
        }
        Operation::SubmitResult { call, run, result, now, .. } => {
            submit_result(session, call, run, result, *now)
        }
        Operation::CreateSession { .. }
        | Operation::DeleteSession { .. }
        | Operation::ExpireCalls { .. }
        | Operation::Cleanup { .. } => unreachable!("`step` answers these without a session"),
    }
}

fn create(state: &mut SessionState, expires_at: Option<Millis>) -> Answer {
    if let Some(session) = &state.session {
        return Err(Refusal::SessionExists { version: session.version });
    }
    let session = Session::created(expires_at);
    let version = session.version;
    state.session = Some(Box::new(session));
    Ok(Reply::Created { version })
}

fn delete(state: &mut SessionState) -> Answer {
    state.session.take().map(|_| Reply::Deleted).ok_or(Refusal::SessionNotFound)
}

fn read_messages(session: &Session, offset: u64, limit: u64) -> Answer {
    let total = session.messages.len();
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(total);
    let end = start + (total - start).min(limit as usize);
    Ok(Reply::Page { messages: session.messages[start..end].to_vec(), total: total as u64 })
}

fn stage_call(session: &mut Session, stage: &Stage) -> Answer {
    open(session, &stage.step)?;
    let staged = Staged { at: stage.at, changes: stage.changes.clone() };
    session.staged.insert((stage.step.clone(), stage.call.clone()), staged);
    Ok(Reply::Staged)
}

/// Refuses the last promoted step.
fn open(session: &Session, step: &Id) -> Result<(), Refusal> {
    if session.last_step.as_ref() == Some(step) { Err(Refusal::StepClosed) } else { Ok(()) }
}

fn discard(session: &mut Session, step: &Id) -> Answer {
    Ok(Reply::Discarded { calls: clear_staging(session, step) })
}

/// Removes what is staged under the step and counts its calls.
fn clear_staging(session: &mut Session, step: &Id) -> u64 {
    let before = session.staged.len();
    session.staged.retain(|(staged_step, _), _| staged_step != step);
    (before - session.staged.len()) as u64
}

fn promote(session: &mut Session, promote: &Promote) -> Answer {
    open(session, &promote.step)?;
    if promote.expected != session.version {
        let (expected, current) = (promote.expected, session.version);
        return Err(Refusal::StaleState { expected, current });
    }
    let new = new_messages(session, &promote.messages)?;
    let state =
        merge(&session.state, promote.changes.iter().chain(staged_changes(session, &promote.step)))
            .map_err(|key| Refusal::MergeConflict { key })?;

    session.state = state;
    session.status = promote.status.unwrap_or(session.status);
    let appended = new.len() as u64;
    session.messages.extend(new);
    let applied = clear_staging(session, &promote.step);
    session.last_step = Some(promote.step.clone());
    session.version += 1;
    Ok(Reply::Promoted { version: session.version, applied, appended })
}

/// The changes staged under the step, by (at, call).
fn staged_changes<'a>(
    session: &'a Session,
    step: &Id,
) -> impl Iterator<Item = &'a crate::Change> + use<'a> {
    let mut calls: Vec<(&Id, &Staged)> = session
        .staged
        .iter()
        .filter(|((staged_step, _), _)| staged_step == step)
        .map(|((_, call), staged)| (call, staged))
        .collect();
    calls.sort_by_key(|(call, staged)| (staged.at, *call));
    calls.into_iter().flat_map(|(_, staged)| staged.changes.iter())
}

fn append_messages(session: &mut Session, messages: &[Message]) -> Answer {
    let new = new_messages(session, messages)?;
    let appended = new.len() as u64;
    session.messages.extend(new);
    Ok(Reply::Appended { appended, total: session.messages.len() as u64 })
}

/// Those of the messages whose id is not there yet, also not earlier in the list.
///
/// # Errors
/// `MessageConflict` at the first message whose id is there with another body.
fn new_messages(session: &Session, messages: &[Message]) -> Result<Vec<Message>, Refusal> {
    let mut new: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match session.messages.iter().chain(&new).find(|earlier| earlier.id == message.id) {
            None => new.push(message.clone()),
            Some(earlier) if earlier.body == message.body => {}
            Some(_) => return Err(Refusal::MessageConflict { id: message.id.clone() }),
        }
    }
    Ok(new)
}

fn compare_and_set_status(session: &mut Session, from: &[Status], to: Status) -> Answer {
    if !from.contains(&session.status) {
        let (status, version) = (session.status, session.version);
        return Err(Refusal::StatusMismatch { status, version });
    }
    session.status = to;
    session.version += 1;
    Ok(Reply::StatusSet { version: session.version })
}

fn begin_run(session: &mut Session, run: &Id) -> Answer {
    let known = session.runs.iter().position(|begun| begun == run);
    let position = known.unwrap_or_else(|| {
        session.runs.push(run.clone());
        session.runs.len() - 1
    });
    Ok(Reply::RunBegun { turn: position as u64 + 1 })
}

fn register_call(session: &mut Session, call: &Id, run: &Id, deadline: Millis) -> Answer {
    match session.calls.get(call) {
        Some(known) if known.run == *run && known.deadline == deadline => {}
        Some(_) => return Err(Refusal::CallConflict),
        None => {
            let new = Call { run: run.clone(), deadline, state: CallState::Pending };
            session.calls.insert(call.clone(), new);
        }
    }
    Ok(Reply::Registered)
}

fn submit_result(
    session: &mut Session,
    call: &Id,
    run: &Id,
    result: &Value,
    now: Millis,
) -> Answer {
    let Some(call) = session.calls.get_mut(call) else { return Err(Refusal::UnknownCall) };
    if call.run != *run {
        return Err(Refusal::RunFenced { run: call.run.clone() });
    }
    match &call.state {
        CallState::Submitted(known) if known == result => Ok(Reply::Submitted),
        CallState::Submitted(_) => Err(Refusal::CallResolved { resolution: Resolution::Submitted }),
        CallState::Expired => Err(Refusal::CallResolved { resolution: Resolution::Expired }),
        CallState::Pending if now >= call.deadline => Err(Refusal::CallExpired),
        CallState::Pending => {
            call.state = CallState::Submitted(result.clone());
            Ok(Reply::Submitted)
        }
    }
}

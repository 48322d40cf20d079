//! Writing schedules by hand, short enough to be read.
//!
//! The functions here are operations with the parts that a directed schedule seldom cares
//! about filled in: `[create("s"), stage("s", "step", "call", 1, [set("a", 1)])]`.

use stagefault_models::{
    Change, Entry, Id, Interleaving, Message, Millis, Operation, Promote, Schedule, Stage, Status,
    Value, Version,
};

/// A schedule of one writer.
pub fn schedule<const N: usize>(operations: [Operation; N]) -> Schedule {
    Schedule::of_one_writer(operations)
}

/// A schedule of several writers, whose operations overlap so; each with its writer.
pub fn overlapping(
    interleaving: Interleaving,
    operations: impl IntoIterator<Item = (u32, Operation)>,
) -> Schedule {
    let entry = |(writer, operation)| Entry::new(writer, operation);
    let mut schedule = Schedule::new(operations.into_iter().map(entry).collect());
    schedule.interleaving = Some(interleaving);
    schedule
}

/// Creates a session that never expires.
pub fn create(session: &str) -> Operation {
    Operation::CreateSession { session: session.into(), expires_at: None }
}

/// Deletes a session.
pub fn delete(session: &str) -> Operation {
    Operation::DeleteSession { session: session.into() }
}

/// Loads a session.
pub fn load(session: &str) -> Operation {
    Operation::Load { session: session.into() }
}

/// Sets a session's expiry.
pub fn touch(session: &str, expires_at: Option<Millis>) -> Operation {
    Operation::Touch { session: session.into(), expires_at }
}

/// Stages changes.
pub fn stage<const N: usize>(
    session: &str,
    step: &str,
    call: &str,
    at: Millis,
    changes: [Change; N],
) -> Operation {
    Operation::Stage(Stage {
        session: session.into(),
        step: step.into(),
        call: call.into(),
        at,
        changes: changes.into(),
    })
}

/// Discards a step's staging.
pub fn discard(session: &str, step: &str) -> Operation {
    Operation::Discard { session: session.into(), step: step.into() }
}

/// Promotes a step that brings nothing of its own.
pub fn promote(session: &str, step: &str, expected: Version) -> Operation {
    promote_with(session, step, expected, [], [])
}

/// Promotes a step with changes and messages of its own.
pub fn promote_with<const C: usize, const M: usize>(
    session: &str,
    step: &str,
    expected: Version,
    changes: [Change; C],
    messages: [Message; M],
) -> Operation {
    Operation::Promote(Promote {
        session: session.into(),
        step: step.into(),
        expected,
        status: None,
        changes: changes.into(),
        messages: messages.into(),
    })
}

/// Appends messages.
pub fn append<const N: usize>(session: &str, messages: [Message; N]) -> Operation {
    Operation::AppendMessages { session: session.into(), messages: messages.into() }
}

/// Moves the status from one of some to another.
pub fn set_status<const N: usize>(session: &str, from: [Status; N], to: Status) -> Operation {
    Operation::CompareAndSetStatus { session: session.into(), from: from.into(), to }
}

/// Begins a run.
pub fn begin_run(session: &str, run: &str) -> Operation {
    Operation::BeginRun { session: session.into(), run: run.into() }
}

/// Requests an interrupt.
pub fn request_interrupt(session: &str) -> Operation {
    Operation::RequestInterrupt { session: session.into() }
}

/// Consumes an interrupt.
pub fn consume_interrupt(session: &str) -> Operation {
    Operation::ConsumeInterrupt { session: session.into() }
}

/// Registers a client tool call.
pub fn register(session: &str, call: &str, run: &str, deadline: Millis) -> Operation {
    let (session, call, run) = (session.into(), call.into(), run.into());
    Operation::RegisterCall { session, call, run, deadline }
}

/// Submits a client tool call's result.
pub fn submit(
    session: &str,
    call: &str,
    run: &str,
    result: impl Into<Value>,
    now: Millis,
) -> Operation {
    let (session, call, run) = (session.into(), call.into(), run.into());
    Operation::SubmitResult { session, call, run, result: result.into(), now }
}

/// Expires the calls that are due.
pub fn expire_calls(now: Millis) -> Operation {
    Operation::ExpireCalls { now }
}

/// Removes what has expired.
pub fn cleanup(now: Millis, staging_ttl: Millis) -> Operation {
    Operation::Cleanup { now, staging_ttl }
}

/// A message.
pub fn message(id: &str, body: impl Into<Value>) -> Message {
    Message { id: Id::from(id), body: body.into() }
}

/// Gives a key a value.
pub fn set(key: &str, value: impl Into<Value>) -> Change {
    Change::Set { key: key.into(), value: value.into() }
}

/// Appends one item to a key's array.
pub fn push(key: &str, item: impl Into<Value>) -> Change {
    Change::Append { key: key.into(), items: vec![item.into()] }
}

/// Adds to a key's integer.
pub fn increment(key: &str, by: i64) -> Change {
    Change::Increment { key: key.into(), by }
}

//! Short words for operations, so that a test reads like the sentence it proves.
//!
//! All of them are about the session `s`; [`of`] asks the same of another one.

use stagefault_models::{Change, Message, Millis, Operation, Promote, Stage, Status, Value};

fn s() -> stagefault_models::Id {
    "s".into()
}

pub fn create() -> Operation {
    create_until(None)
}

pub fn create_until(expires_at: Option<Millis>) -> Operation {
    Operation::CreateSession { session: s(), expires_at }
}

pub fn delete() -> Operation {
    Operation::DeleteSession { session: s() }
}

pub fn load() -> Operation {
    Operation::Load { session: s() }
}

pub fn read(offset: u64, limit: u64) -> Operation {
    Operation::ReadMessages { session: s(), offset, limit }
}

pub fn touch(expires_at: Option<Millis>) -> Operation {
    Operation::Touch { session: s(), expires_at }
}

pub fn stage<const N: usize>(
    step: &str,
    call: &str,
    at: Millis,
    changes: [Change; N],
) -> Operation {
    let (step, call, changes) = (step.into(), call.into(), changes.into());
    Operation::Stage(Stage { session: s(), step, call, at, changes })
}

pub fn discard(step: &str) -> Operation {
    Operation::Discard { session: s(), step: step.into() }
}

/// A promote of nothing but what is staged; [`Promote`]'s own members say more.
pub fn promote(step: &str, expected: u64) -> Promote {
    let (changes, messages) = (vec![], vec![]);
    Promote { session: s(), step: step.into(), expected, status: None, changes, messages }
}

/// The promote, with these changes and messages.
pub fn promote_with<const N: usize, const M: usize>(
    step: &str,
    expected: u64,
    changes: [Change; N],
    messages: [Message; M],
) -> Operation {
    let (changes, messages) = (changes.into(), messages.into());
    Operation::Promote(Promote { changes, messages, ..promote(step, expected) })
}

/// The promote of nothing but what is staged, as an operation.
pub fn promote_staged(step: &str, expected: u64) -> Operation {
    Operation::Promote(promote(step, expected))
}

pub fn append<const N: usize>(messages: [Message; N]) -> Operation {
    Operation::AppendMessages { session: s(), messages: messages.into() }
}

pub fn set_status<const N: usize>(from: [Status; N], to: Status) -> Operation {
    Operation::CompareAndSetStatus { session: s(), from: from.into(), to }
}

pub fn begin_run(run: &str) -> Operation {
    Operation::BeginRun { session: s(), run: run.into() }
}

pub fn request_interrupt() -> Operation {
    Operation::RequestInterrupt { session: s() }
}

pub fn consume_interrupt() -> Operation {
    Operation::ConsumeInterrupt { session: s() }
}

pub fn register(call: &str, run: &str, deadline: Millis) -> Operation {
    Operation::RegisterCall { session: s(), call: call.into(), run: run.into(), deadline }
}

pub fn submit(call: &str, run: &str, result: impl Into<Value>, now: Millis) -> Operation {
    let (call, run, result) = (call.into(), run.into(), result.into());
    Operation::SubmitResult { session: s(), call, run, result, now }
}

pub fn expire_calls(now: Millis) -> Operation {
    Operation::ExpireCalls { now }
}

pub fn cleanup(now: Millis, staging_ttl: Millis) -> Operation {
    Operation::Cleanup { now, staging_ttl }
}

/// The same operation about another session; a sweep is about all of them anyway.
pub fn of(session: &str, operation: Operation) -> Operation {
    if operation.session().is_none() {
        return operation;
    }
    let mut json = serde_json::to_value(operation).expect("an operation is JSON");
    let name = json.as_object().and_then(|object| object.keys().next()).expect("a name").clone();
    json[name]["session"] = session.into();
    serde_json::from_value(json).expect("only the session differs")
}

/// One operation of each kind, in the order of the contract, about the session `s`.
pub fn one_of_each() -> [Operation; 17] {
    [
        create(),
        delete(),
        load(),
        read(0, 10),
        touch(None),
        stage("t", "c", 0, []),
        discard("t"),
        promote_staged("t", 1),
        append([message("m", 1)]),
        set_status([Status::Active], Status::Completed),
        begin_run("r"),
        request_interrupt(),
        consume_interrupt(),
        register("c", "r", 10),
        submit("c", "r", 1, 5),
        expire_calls(0),
        cleanup(0, 0),
    ]
}

pub fn message(id: &str, body: impl Into<Value>) -> Message {
    Message { id: id.into(), body: body.into() }
}

pub fn set(key: &str, value: impl Into<Value>) -> Change {
    Change::Set { key: key.into(), value: value.into() }
}

pub fn remove(key: &str) -> Change {
    Change::Remove { key: key.into() }
}

pub fn append_to<const N: usize>(key: &str, items: [i64; N]) -> Change {
    Change::Append { key: key.into(), items: items.map(Value::from).into() }
}

pub fn increment(key: &str, by: i64) -> Change {
    Change::Increment { key: key.into(), by }
}

/// A value written as JSON.
pub fn json(text: &str) -> Value {
    Value::from_json(text).expect(text)
}

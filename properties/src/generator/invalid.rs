//! Input that the contract does not admit: one part of a sensible operation, spoiled.

use stagefault_models::contract::{MAX_PAGE, MAX_TIME};
use stagefault_models::{Change, Id, Message, Millis, Operation, Promote, Stage, Value};

use super::names::Names;
use crate::choices::Choices;

/// Spoils one part of the operation, so that it must be refused as invalid.
pub(super) fn spoil<C: Choices + ?Sized>(
    names: &Names,
    operation: &mut Operation,
    choices: &mut C,
) {
    match operation {
        Operation::ReadMessages { limit, .. } if choices.chance(1, 2) => {
            *limit = *choices.pick(&[MAX_PAGE + 1, u64::MAX]);
        }
        Operation::CreateSession { expires_at, .. } | Operation::Touch { expires_at, .. }
            if choices.chance(1, 2) =>
        {
            *expires_at = Some(late(choices));
        }
        Operation::Stage(Stage { at, .. }) if choices.chance(1, 3) => *at = late(choices),
        Operation::Stage(stage) if choices.chance(1, 2) => {
            let spoiled = spoiled_change(names, choices);
            stage.changes = stage.changes.iter().cloned().chain([spoiled]).collect();
        }
        Operation::Promote(Promote { changes, .. }) if choices.chance(1, 3) => {
            changes.push(spoiled_change(names, choices));
        }
        Operation::Promote(Promote { messages, .. })
        | Operation::AppendMessages { messages, .. }
            if choices.chance(1, 2) =>
        {
            messages.push(spoiled_message(names, choices));
        }
        Operation::CompareAndSetStatus { from, .. } if choices.chance(1, 2) => from.clear(),
        Operation::RegisterCall { deadline, .. } if choices.chance(1, 2) => {
            *deadline = late(choices);
        }
        Operation::SubmitResult { result, .. } if choices.chance(1, 2) => {
            *result = bad_value(names, choices)
        }
        Operation::ExpireCalls { now } => *now = late(choices),
        Operation::Cleanup { now, staging_ttl } => {
            *if choices.chance(1, 2) { now } else { staging_ttl } = late(choices);
        }
        other => spoil_name(other, choices),
    }
}

/// Spoils one of the operation's names. A sweep has none; its times are spoiled instead.
fn spoil_name<C: Choices + ?Sized>(operation: &mut Operation, choices: &mut C) {
    let id = bad_id(choices);
    let inner = choices.chance(1, 2);
    match operation {
        Operation::Stage(Stage { call, .. }) if inner => *call = id,
        Operation::Discard { step, .. } | Operation::Promote(Promote { step, .. }) if inner => {
            *step = id;
        }
        Operation::BeginRun { run, .. } if inner => *run = id,
        Operation::RegisterCall { call, .. } if inner => *call = id,
        Operation::SubmitResult { run, .. } if inner => *run = id,
        other => other.session_mut().into_iter().for_each(|session| *session = id.clone()),
    }
}

fn late<C: Choices + ?Sized>(choices: &mut C) -> Millis {
    *choices.pick(&[MAX_TIME + 1, Millis::MAX])
}

fn bad_id<C: Choices + ?Sized>(choices: &mut C) -> Id {
    match choices.below(3) {
        0 => Id::from(""),
        1 => Id::from("a\0b"),
        _ => Id::from("é".repeat(Id::MAX_BYTES / 2 + 1)),
    }
}

fn bad_value<C: Choices + ?Sized>(names: &Names, choices: &mut C) -> Value {
    match choices.below(16) {
        // Only where large values are wanted, for judging one takes a millisecond.
        0 if !names.large.is_empty() => names.too_large.clone(),
        1..=5 => names.too_deep.clone(),
        6..=10 => Value::object([("a\0b", Value::Null)]),
        _ => Value::array(vec![Value::string("\0")]),
    }
}

fn spoiled_change<C: Choices + ?Sized>(names: &Names, choices: &mut C) -> Change {
    match choices.below(3) {
        0 => Change::Remove { key: bad_id(choices) },
        1 => Change::Set { key: "a".into(), value: bad_value(names, choices) },
        _ => Change::Append { key: "a".into(), items: vec![bad_value(names, choices)] },
    }
}

fn spoiled_message<C: Choices + ?Sized>(names: &Names, choices: &mut C) -> Message {
    if choices.chance(1, 2) {
        Message { id: bad_id(choices), body: Value::Null }
    } else {
        Message { id: "m".into(), body: bad_value(names, choices) }
    }
}

//! What the contract admits: the `InvalidInput` rule, the first of all refusals.

use super::{Change, Id, Message, Millis, Operation, Promote, Reason, Refusal, Stage, Value};

/// The latest valid time: 2^53 − 1 ms, the largest integer that every JSON reader keeps.
pub const MAX_TIME: Millis = (1 << 53) - 1;

/// The longest valid message body, `Set` value, appended item or result, as compact JSON.
pub const MAX_VALUE_BYTES: usize = 1 << 20;

/// The most messages that one `ReadMessages` may ask for.
pub const MAX_PAGE: u64 = 1000;

/// A rule that is broken, in words. It becomes a refusal at the very end, for what is judged
/// is mostly valid, and many times an operation.
type Broken = &'static str;

type Validity = Result<(), Broken>;

impl Operation {
    /// Judges ids, values, times and limits.
    ///
    /// # Errors
    /// `InvalidInput`, saying which rule is broken.
    pub fn validate(&self) -> Result<(), Refusal> {
        self.judge().map_err(|broken| Refusal::InvalidInput(Reason(broken.to_owned())))
    }

    fn judge(&self) -> Validity {
        if let Some(session) = self.session() {
            id(session)?;
        }
        match self {
            Operation::DeleteSession { .. }
            | Operation::Load { .. }
            | Operation::RequestInterrupt { .. }
            | Operation::ConsumeInterrupt { .. } => Ok(()),
            Operation::CreateSession { expires_at, .. } | Operation::Touch { expires_at, .. } => {
                time(expires_at.unwrap_or(0))
            }
            Operation::ReadMessages { limit, .. } if *limit > MAX_PAGE => {
                Err("a page holds at most 1000 messages")
            }
            Operation::ReadMessages { .. } => Ok(()),
            Operation::Stage(Stage { step, call, at, changes, .. }) => {
                id(step)?;
                id(call)?;
                time(*at)?;
                changes.iter().try_for_each(change)
            }
            Operation::Discard { step, .. } => id(step),
            Operation::Promote(Promote { step, changes, messages, .. }) => {
                id(step)?;
                changes.iter().try_for_each(change)?;
                messages.iter().try_for_each(message)
            }
            Operation::AppendMessages { messages, .. } => messages.iter().try_for_each(message),
            Operation::CompareAndSetStatus { from, .. } if from.is_empty() => {
                Err("no status can be in an empty set")
            }
            Operation::CompareAndSetStatus { .. } => Ok(()),
            Operation::BeginRun { run, .. } => id(run),
            Operation::RegisterCall { call, run, deadline, .. } => {
                id(call)?;
                id(run)?;
                time(*deadline)
            }
            Operation::SubmitResult { call, run, result, now, .. } => {
                id(call)?;
                id(run)?;
                time(*now)?;
                value(result)
            }
            Operation::ExpireCalls { now } => time(*now),
            Operation::Cleanup { now, staging_ttl } => {
                time(*now)?;
                time(*staging_ttl)
            }
        }
    }
}

fn id(id: &Id) -> Validity {
    if id.is_valid() { Ok(()) } else { Err("an id is 1 to 128 bytes of UTF-8 without NUL") }
}

fn time(time: Millis) -> Validity {
    if time <= MAX_TIME { Ok(()) } else { Err("a time is at most 2^53 - 1 milliseconds") }
}

fn message(message: &Message) -> Validity {
    id(&message.id)?;
    value(&message.body)
}

fn change(change: &Change) -> Validity {
    id(change.key())?;
    match change {
        Change::Set { value: new, .. } => value(new),
        Change::Append { items, .. } => items.iter().try_for_each(value),
        Change::Remove { .. } | Change::Increment { .. } => Ok(()),
    }
}

fn value(value: &Value) -> Validity {
    if let Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) = value {
        return Ok(());
    }
    let bound = size_bound(value, 0)?;
    // The bound is cheap and generous; only what exceeds it is measured.
    if bound > MAX_VALUE_BYTES && value.to_json().len() > MAX_VALUE_BYTES {
        return Err("a value is at most 1 MiB as compact JSON");
    }
    Ok(())
}

/// An upper bound of the value's length as compact JSON, judging strings and nesting on the way.
fn size_bound(value: &Value, depth: usize) -> Result<usize, Broken> {
    /// `-1.7976931348623157e308`, and more than any `i64`.
    const LONGEST_NUMBER: usize = 24;
    Ok(match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Integer(_) | Value::Float(_) => LONGEST_NUMBER,
        Value::String(text) => string_bound(text)?,
        Value::Array(items) => {
            nested(depth)?;
            items
                .iter()
                .try_fold(2, |sum, item| Ok::<_, Broken>(sum + 1 + size_bound(item, depth + 1)?))?
        }
        Value::Object(members) => {
            nested(depth)?;
            members.iter().try_fold(2, |sum, (key, member)| {
                Ok::<_, Broken>(sum + 2 + string_bound(key)? + size_bound(member, depth + 1)?)
            })?
        }
    })
}

fn nested(depth: usize) -> Validity {
    if depth < Value::MAX_DEPTH { Ok(()) } else { Err("a value nests at most 64 deep") }
}

fn string_bound(text: &str) -> Result<usize, Broken> {
    /// The longest escape of one byte: `\u001f`.
    const LONGEST_ESCAPE: usize = 6;
    match memchr::memchr(0, text.as_bytes()) {
        None => Ok(2 + LONGEST_ESCAPE * text.len()),
        Some(_) => Err("a string holds no NUL"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(body: Value) -> Operation {
        let message = Message { id: "m".into(), body };
        Operation::AppendMessages { session: "s".into(), messages: vec![message] }
    }

    fn nested_to(depth: usize) -> Value {
        (0..depth).fold(Value::Null, |inner, _| Value::array(vec![inner]))
    }

    fn admits(operation: &Operation) -> bool {
        operation.validate().is_ok()
    }

    #[test]
    fn a_value_of_exactly_one_mebibyte_is_valid_and_one_byte_more_is_not() {
        assert!(admits(&body(Value::string("x".repeat(MAX_VALUE_BYTES - 2)))));
        assert!(!admits(&body(Value::string("x".repeat(MAX_VALUE_BYTES - 1)))));
    }

    #[test]
    fn escapes_count_as_they_are_written() {
        assert!(admits(&body(Value::string("\n".repeat((MAX_VALUE_BYTES - 2) / 2)))));
        assert!(!admits(&body(Value::string("\n".repeat(MAX_VALUE_BYTES / 2)))));
    }

    #[test]
    fn nesting_ends_at_64() {
        assert!(admits(&body(nested_to(64))));
        assert!(!admits(&body(nested_to(65))));
    }

    #[test]
    fn strings_and_keys_inside_values_hold_no_nul() {
        assert!(!admits(&body(Value::string("a\0"))));
        assert!(!admits(&body(Value::object([("a\0", Value::Null)]))));
        assert!(admits(&body(Value::object([("", Value::Null)]))));
        assert!(admits(&body(Value::object([("k".repeat(200), Value::Null)]))));
    }

    #[test]
    fn times_end_at_2_to_the_53() {
        assert!(admits(&Operation::ExpireCalls { now: MAX_TIME }));
        assert!(!admits(&Operation::ExpireCalls { now: MAX_TIME + 1 }));
        assert!(!admits(&Operation::Cleanup { now: 0, staging_ttl: MAX_TIME + 1 }));
    }

    #[test]
    fn pages_end_at_1000_and_status_sets_are_not_empty() {
        let page = |limit| Operation::ReadMessages { session: "s".into(), offset: u64::MAX, limit };
        assert!(admits(&page(1000)));
        assert!(!admits(&page(1001)));
        let to = crate::Status::Failed;
        assert!(!admits(&Operation::CompareAndSetStatus { session: "s".into(), from: vec![], to }));
    }
}

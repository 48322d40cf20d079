//! Simplifying operations: fewer changes, smaller values, earlier times, plainer names.

use std::collections::BTreeMap;

use stagefault_models::{
    Change, Entry, Id, Message, Namespaces, Operation, Promote, Schedule, Stage, Value,
};

use super::{Ended, Progress, Search};

impl<N: Namespaces, P: FnMut(Progress)> Search<'_, N, P> {
    /// Simplifies every operation as far as the failure allows.
    pub(super) async fn simplify(&mut self) -> Result<(), Ended> {
        let mut index = 0;
        while index < self.best.schedule.operations.len() {
            // From the start again after each success, for simpler begets simpler.
            while let Some(entry) = self.best.schedule.operations.get(index).cloned() {
                if !self.simplify_one(index, &entry).await? {
                    break;
                }
            }
            index += 1;
        }
        self.keep(with_plain_sessions(&self.best.schedule)).await.map(|_| ())
    }

    async fn simplify_one(&mut self, index: usize, entry: &Entry) -> Result<bool, Ended> {
        for operation in simpler(&entry.operation) {
            let mut candidate = self.best.schedule.clone();
            candidate.operations[index] = Entry { operation, ..entry.clone() };
            if self.keep(candidate).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Operations of the same kind that are simpler, the simplest first.
fn simpler(operation: &Operation) -> Vec<Operation> {
    match operation.clone() {
        Operation::CreateSession { session, expires_at: Some(_) } => {
            vec![Operation::CreateSession { session, expires_at: None }]
        }
        Operation::Touch { session, expires_at: Some(_) } => {
            vec![Operation::Touch { session, expires_at: None }]
        }
        Operation::Stage(stage) => fewer_changes(&stage.changes)
            .into_iter()
            .map(|changes| Operation::Stage(Stage { changes: changes.into(), ..stage.clone() }))
            .collect(),
        Operation::Promote(promote) => simpler_promotes(&promote),
        Operation::AppendMessages { session, messages } => fewer_messages(&messages)
            .into_iter()
            .map(|messages| Operation::AppendMessages { session: session.clone(), messages })
            .collect(),
        Operation::CompareAndSetStatus { session, from, to } => (0..from.len())
            .filter(|_| from.len() > 1)
            .map(|skipped| {
                let from = without(&from, skipped);
                Operation::CompareAndSetStatus { session: session.clone(), from, to }
            })
            .collect(),
        Operation::SubmitResult { session, call, run, result, now } => smaller(&result)
            .into_iter()
            .map(|result| {
                let (session, call, run) = (session.clone(), call.clone(), run.clone());
                Operation::SubmitResult { session, call, run, result, now }
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn simpler_promotes(promote: &Promote) -> Vec<Operation> {
    let mut promotes = Vec::new();
    if promote.status.is_some() {
        promotes.push(Promote { status: None, ..promote.clone() });
    }
    for changes in fewer_changes(&promote.changes) {
        promotes.push(Promote { changes, ..promote.clone() });
    }
    for messages in fewer_messages(&promote.messages) {
        promotes.push(Promote { messages, ..promote.clone() });
    }
    promotes.into_iter().map(Operation::Promote).collect()
}

/// The list without one of its items, and with one of them simpler.
fn fewer<T: Clone>(items: &[T], simpler: impl Fn(&T) -> Vec<T>) -> Vec<Vec<T>> {
    let shorter = (0..items.len()).map(|skipped| without(items, skipped));
    let replaced = items.iter().enumerate().flat_map(|(index, item)| {
        simpler(item).into_iter().map(move |simpler| {
            let mut items = items.to_vec();
            items[index] = simpler;
            items
        })
    });
    let none = (items.len() > 1).then(Vec::new);
    none.into_iter().chain(shorter).chain(replaced).collect()
}

fn without<T: Clone>(items: &[T], skipped: usize) -> Vec<T> {
    let mut items = items.to_vec();
    items.remove(skipped);
    items
}

fn fewer_changes(changes: &[Change]) -> Vec<Vec<Change>> {
    fewer(changes, |change| match change.clone() {
        Change::Set { key, value } => smaller(&value)
            .into_iter()
            .map(|value| Change::Set { key: key.clone(), value })
            .collect(),
        Change::Append { key, items } => fewer(&items, smaller)
            .into_iter()
            .map(|items| Change::Append { key: key.clone(), items })
            .collect(),
        Change::Increment { key, by } if by != 1 && by != 0 => {
            vec![Change::Increment { key, by: 1 }]
        }
        Change::Increment { .. } | Change::Remove { .. } => Vec::new(),
    })
}

fn fewer_messages(messages: &[Message]) -> Vec<Vec<Message>> {
    fewer(messages, |message| {
        let with_body = |body| Message { id: message.id.clone(), body };
        smaller(&message.body).into_iter().map(with_body).collect()
    })
}

/// Values that are smaller, the smallest first. Null is the smallest.
fn smaller(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Integer(0) => vec![Value::Null],
        Value::Integer(number) => {
            let halves = [0, 1, number / 2].into_iter().filter(|half| half != number);
            [Value::Null].into_iter().chain(halves.map(Value::Integer)).collect()
        }
        Value::Float(_) => vec![Value::Null, Value::Integer(0)],
        Value::String(text) if text.is_empty() => vec![Value::Null],
        Value::String(_) => vec![Value::Null, Value::string("")],
        Value::Array(items) => {
            let shorter = fewer(items, smaller).into_iter().map(Value::array);
            [Value::Null].into_iter().chain(items.iter().cloned()).chain(shorter).collect()
        }
        Value::Object(members) => {
            let inner = members.iter().map(|(_, member)| member.clone());
            [Value::Null].into_iter().chain(inner).collect()
        }
    }
}

/// The schedule with its sessions called `s0`, `s1` and so on, in order of appearance.
fn with_plain_sessions(schedule: &Schedule) -> Schedule {
    let mut plain: BTreeMap<Id, Id> = BTreeMap::new();
    let mut renamed = schedule.clone();
    for entry in &mut renamed.operations {
        if let Some(session) = entry.operation.session_mut().filter(|session| session.is_valid()) {
            let number = plain.len();
            let name = plain.entry(session.clone()).or_insert_with(|| format!("s{number}").into());
            *session = name.clone();
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simplifying_a_value_always_comes_to_an_end_at_null() {
        let text = r#"{"a":[1,{"b":"text"},-9223372036854775808],"c":0.1}"#;
        let mut value = Value::from_json(text).expect("JSON");
        let mut steps = 0;
        // The last candidate is the most complicated one, hence the longest way.
        while let Some(next) = smaller(&value).pop() {
            value = next;
            steps += 1;
            assert!(steps < 1000, "no end at {value}");
        }
        assert_eq!(value, Value::Null);
    }
}

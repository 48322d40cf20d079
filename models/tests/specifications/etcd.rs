//! Jepsen's logs of etcd: one register.

use std::collections::HashMap;

use super::register::{Answer, Ask, Call};

/// The calls of a log.
///
/// # Panics
/// When a line is not what the folder's description says.
pub fn read(text: &str) -> Vec<Call> {
    let (mut calls, mut open) = (Vec::<Call>::new(), HashMap::new());
    for (at, line) in (0u64..).zip(text.lines()) {
        let event = line.strip_prefix("INFO  jepsen.util - ").expect(line);
        let fields: Vec<&str> = event.split('\t').collect();
        let &[process, kind, operation, value] = fields.as_slice() else { panic!("{line}") };
        if kind == ":invoke" {
            open.insert(process, calls.len());
            calls.push(Call { operation: ask(operation, value), called: at, returned: None });
            continue;
        }
        let call = &mut calls[open.remove(process).expect("an open operation")];
        let answer = match (kind, call.operation) {
            (":ok", Ask::Read) => Answer::Value(number(value)),
            (":ok", _) => Answer::Set(true),
            (":fail", Ask::CompareAndSet(..)) => Answer::Set(false),
            (":info", _) => continue,
            _ => panic!("{line}"),
        };
        call.returned = Some((at, answer));
    }
    calls
}

fn ask(operation: &str, value: &str) -> Ask {
    match operation {
        ":read" => Ask::Read,
        ":write" => Ask::Write(number(value).expect(value)),
        ":cas" => {
            let pair = value.trim_matches(['[', ']']).split_once(' ');
            let (from, to) = pair.expect(value);
            Ask::CompareAndSet(number(from).expect(value), number(to).expect(value))
        }
        other => panic!("{other}"),
    }
}

fn number(text: &str) -> Option<i64> {
    (text != "nil").then(|| text.parse().expect(text))
}

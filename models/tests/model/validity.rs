//! What is no valid input, in every place that an operation has for it.

use super::Scene;
use crate::words::*;
use stagefault_models::contract::{MAX_TIME, MAX_VALUE_BYTES};
use stagefault_models::{Change, Id, Operation, Refusal, Value};

/// Ids, values and times at the edges: valid ones, and invalid ones beside them.
fn ids() -> [(String, bool); 6] {
    [
        ("i".into(), true),
        ("i".repeat(Id::MAX_BYTES), true),
        ("\u{1f600}".repeat(Id::MAX_BYTES / 4), true),
        ("".into(), false),
        ("i".repeat(Id::MAX_BYTES + 1), false),
        ("i\0".into(), false),
    ]
}

fn values() -> [(Value, bool); 6] {
    let nested = |depth| (0..depth).fold(Value::Null, |inner, _| Value::array(vec![inner]));
    [
        (Value::string("x".repeat(MAX_VALUE_BYTES - 2)), true),
        (nested(Value::MAX_DEPTH), true),
        (Value::object([("", Value::Null)]), true),
        (Value::string("x".repeat(MAX_VALUE_BYTES - 1)), false),
        (nested(Value::MAX_DEPTH + 1), false),
        (Value::object([("a", Value::string("\0"))]), false),
    ]
}

const TIMES: [(u64, bool); 4] =
    [(0, true), (MAX_TIME, true), (MAX_TIME + 1, false), (u64::MAX, false)];

#[track_caller]
fn judged(operation: Operation, valid: bool) {
    let answer = stagefault_models::model::step(&mut Scene::after([]).state, &operation);
    let admitted = !matches!(answer, Err(Refusal::InvalidInput(_)));
    // Not the operation itself, which may be of a megabyte.
    assert_eq!(admitted, valid, "{:?} answered {answer:?}", operation.kind());
}

#[test]
fn an_id_is_judged_wherever_it_stands() {
    for (id, valid) in ids() {
        let id = id.as_str();
        for operation in one_of_each() {
            if operation.session().is_some() {
                judged(of(id, operation), valid);
            }
        }
        for operation in [
            stage(id, "c", 0, []),
            stage("t", id, 0, []),
            stage("t", "c", 0, [set("k", 1), remove(id)]),
            discard(id),
            promote_staged(id, 1),
            promote_with("t", 1, [set(id, 1)], []),
            promote_with("t", 1, [append_to(id, [])], []),
            promote_with("t", 1, [increment(id, 1)], []),
            promote_with("t", 1, [], [message(id, 1)]),
            append([message("m", 1), message(id, 1)]),
            begin_run(id),
            register(id, "r", 0),
            register("c", id, 0),
            submit(id, "r", 1, 0),
            submit("c", id, 1, 0),
        ] {
            judged(operation, valid);
        }
    }
}

#[test]
fn a_value_is_judged_wherever_it_stands() {
    for (value, valid) in values() {
        let items = vec![Value::Null, value.clone()];
        for operation in [
            stage("t", "c", 0, [set("k", value.clone())]),
            promote_with("t", 1, [set("k", value.clone())], []),
            promote_with("t", 1, [Change::Append { key: "k".into(), items }], []),
            promote_with("t", 1, [], [message("m", value.clone())]),
            append([message("m", value.clone())]),
            submit("c", "r", value, 0),
        ] {
            judged(operation, valid);
        }
    }
}

#[test]
fn a_time_is_judged_wherever_it_stands() {
    for (time, valid) in TIMES {
        for operation in [
            create_until(Some(time)),
            touch(Some(time)),
            stage("t", "c", time, []),
            register("c", "r", time),
            submit("c", "r", 1, time),
            expire_calls(time),
            cleanup(time, 0),
            cleanup(0, time),
        ] {
            judged(operation, valid);
        }
    }
}

#[test]
fn versions_and_offsets_may_be_any_number() {
    judged(promote_staged("t", u64::MAX), true);
    judged(read(u64::MAX, 1000), true);
}

//! What a reader takes besides what a writer writes.

use stagefault_models::{Completion, Operation, Reply, Schedule, Value};

use crate::words::*;

fn operation(text: &str) -> Operation {
    serde_json::from_str(text).expect(text)
}

#[test]
fn an_absent_member_may_be_written_as_null() {
    let never = operation(r#"{"Touch":{"session":"s","expires_at":null}}"#);
    assert_eq!(never, touch(None));
    let promote = r#"{"Promote":{"session":"s","step":"t","expected":1,"status":null,"changes":[],"messages":[]}}"#;
    assert_eq!(operation(promote), promote_staged("t", 1));
}

#[test]
fn members_come_in_any_order_and_with_any_space() {
    let text = "{ \"ReadMessages\" : { \"limit\":10,\n\"offset\":0, \"session\":\"s\" } }";
    assert_eq!(operation(text), read(0, 10));
}

#[test]
fn the_keys_of_a_state_come_in_any_order_and_the_last_of_two_counts() {
    let snapshot = |state: &str| {
        let text = format!(
            r#"{{"Done":{{"Snapshot":{{"version":1,"status":"active","state":{state},"message_count":0,"staged":[],"calls":{{}},"runs":[],"interrupt":false}}}}}}"#
        );
        serde_json::from_str::<Completion>(&text)
    };
    let state = |text| match snapshot(text).expect(text) {
        Completion::Done(Reply::Snapshot(snapshot)) => snapshot.into_inner().state,
        other => panic!("{other:?}"),
    };
    assert_eq!(state(r#"{"b":1,"a":2}"#), state(r#"{"a":2,"b":1}"#));
    assert_eq!(state(r#"{"a":1,"b":0,"a":2}"#), state(r#"{"a":2,"b":0}"#));
    assert_eq!(state("{}").len(), 0);
    assert!(snapshot("[]").is_err(), "a state is an object, also when it is empty");
}

#[test]
fn numbers_of_values_are_read_by_what_they_are_worth() {
    let submitted = |number: &str| {
        operation(&format!(
            r#"{{"SubmitResult":{{"session":"s","call":"c","run":"r","result":{number},"now":0}}}}"#
        ))
    };
    assert_eq!(submitted("1e0"), submit("c", "r", 1, 0));
    assert_eq!(submitted("1.0"), submit("c", "r", 1, 0));
    assert_ne!(submitted("9007199254740993"), submitted("9007199254740992"));
}

#[test]
fn a_schedule_of_nothing_needs_one_writer() {
    let schedule = Schedule::from_json(&Schedule::new(vec![]).to_json()).expect("a schedule");
    assert_eq!((schedule.operations.len(), schedule.writers()), (0, 1));
}

#[test]
fn values_nested_deeper_than_valid_are_read_so_that_they_are_tried() {
    let nested = |depth: usize| {
        let value = (0..depth).fold(Value::Null, |inner, _| Value::array(vec![inner]));
        Schedule::of_one_writer([append([message("m", value)])])
    };
    // Seven levels of the document stand around a message's body.
    for depth in [65, 127 - 7] {
        let schedule = nested(depth);
        assert_eq!(Schedule::from_json(&schedule.to_json()).expect("a schedule"), schedule);
    }
    let refusal = Schedule::from_json(&nested(128 - 7).to_json()).expect_err("too deep");
    assert!(refusal.to_string().contains("recursion limit exceeded"), "{refusal}");
}

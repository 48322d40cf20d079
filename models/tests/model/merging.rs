//! Changes work each on the result of the one before: the promote's own, and then what
//! is staged under its step, by (at, call).

use super::Scene;
use crate::words::*;
use stagefault_models::{Change, Refusal, Value};

/// The state after a promote of these changes, or the key that they conflict at.
fn merged<const N: usize>(changes: [Change; N]) -> Result<String, String> {
    let mut scene = Scene::after([]);
    let operation = promote_with("t", 1, changes, []);
    match stagefault_models::model::step(&mut scene.state, &operation) {
        Ok(_) => Ok(scene.state()),
        Err(Refusal::MergeConflict { key }) => Err(key.to_string()),
        Err(other) => panic!("{other:?}"),
    }
}

fn state(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

fn conflict(key: &str) -> Result<String, String> {
    Err(key.to_owned())
}

#[test]
fn set_gives_a_key_its_value_whatever_was_there() {
    assert_eq!(merged([set("k", 1), set("k", json("[[]]"))]), state(r#"{"k":[[]]}"#));
    assert_eq!(merged([set("k", json("null"))]), state(r#"{"k":null}"#));
}

#[test]
fn remove_takes_a_key_away_or_does_nothing() {
    assert_eq!(merged([set("k", 1), remove("k")]), state("{}"));
    assert_eq!(merged([remove("k")]), state("{}"));
}

#[test]
fn append_extends_an_array_and_an_absent_one_counts_as_empty() {
    assert_eq!(merged([append_to("k", [1])]), state(r#"{"k":[1]}"#));
    assert_eq!(merged([append_to("k", [1]), append_to("k", [2, 3])]), state(r#"{"k":[1,2,3]}"#));
}

#[test]
fn append_of_nothing_creates_an_empty_array() {
    assert_eq!(merged([append_to("k", [])]), state(r#"{"k":[]}"#));
}

#[test]
fn increment_adds_and_an_absent_integer_counts_as_0() {
    assert_eq!(merged([increment("k", 2), increment("k", -5)]), state(r#"{"k":-3}"#));
    assert_eq!(merged([set("k", json("1e2")), increment("k", 1)]), state(r#"{"k":101}"#));
}

#[test]
fn increment_by_0_creates_0() {
    assert_eq!(merged([increment("k", 0)]), state(r#"{"k":0}"#));
}

#[test]
fn a_removed_key_counts_as_absent() {
    assert_eq!(merged([set("k", "text"), remove("k"), append_to("k", [1])]), state(r#"{"k":[1]}"#));
    assert_eq!(merged([set("k", "text"), remove("k"), increment("k", 1)]), state(r#"{"k":1}"#));
}

#[test]
fn null_is_neither_array_nor_integer() {
    assert_eq!(merged([set("k", json("null")), append_to("k", [])]), conflict("k"));
    assert_eq!(merged([set("k", json("null")), increment("k", 0)]), conflict("k"));
}

#[test]
fn only_arrays_are_appended_to_and_only_integers_incremented() {
    for (value, is_array, is_integer) in [
        ("[]", true, false),
        ("7", false, true),
        ("7.0", false, true),
        ("7.5", false, false),
        ("9223372036854775808", false, false),
        ("\"7\"", false, false),
        ("{}", false, false),
        ("true", false, false),
    ] {
        let appended = merged([set("k", json(value)), append_to("k", [1])]);
        assert_eq!(appended.is_ok(), is_array, "append to {value}");
        let incremented = merged([set("k", json(value)), increment("k", 1)]);
        assert_eq!(incremented.is_ok(), is_integer, "increment of {value}");
    }
}

#[test]
fn an_overflow_conflicts_at_any_point() {
    assert_eq!(merged([set("k", i64::MAX), increment("k", 1)]), conflict("k"));
    assert_eq!(merged([set("k", i64::MIN), increment("k", -1)]), conflict("k"));
    assert_eq!(merged([set("k", i64::MAX), increment("k", 1), increment("k", -1)]), conflict("k"));
    assert_eq!(merged([set("k", i64::MAX), increment("k", 1), remove("k")]), conflict("k"));
}

#[test]
fn integers_are_kept_and_added_exactly() {
    assert_eq!(
        merged([increment("k", 1 << 53), increment("k", 1)]),
        state(r#"{"k":9007199254740993}"#)
    );
    assert_eq!(
        merged([set("k", -1), increment("k", i64::MIN + 1)]),
        state(r#"{"k":-9223372036854775808}"#)
    );
}

#[test]
fn the_first_key_in_the_order_of_application_is_named() {
    assert_eq!(
        merged([set("a", "text"), set("z", "text"), increment("z", 1), increment("a", 1)]),
        conflict("z")
    );
}

#[test]
fn the_promote_applies_its_own_changes_before_the_staged_ones() {
    let mut scene = Scene::after([stage("t", "c", 0, [append_to("k", [2])])]);
    scene.done(promote_with("t", 1, [append_to("k", [1])], []));
    assert_eq!(scene.state(), r#"{"k":[1,2]}"#);
}

#[test]
fn staged_calls_apply_by_time_and_then_by_the_bytes_of_their_id() {
    let mut scene = Scene::after([
        stage("t", "a", 9, [append_to("k", [4])]),
        stage("t", "\u{1f600}", 5, [append_to("k", [3])]),
        // In UTF-16 this one would come after the one above.
        stage("t", "\u{ff5e}", 5, [append_to("k", [2])]),
        stage("t", "Z", 5, [append_to("k", [1])]),
        stage("t", "z", 0, [append_to("k", [0])]),
    ]);
    scene.done(promote_staged("t", 1));
    assert_eq!(scene.state(), r#"{"k":[0,1,2,3,4]}"#);
}

#[test]
fn a_conflict_between_staged_calls_is_named_in_their_order() {
    let mut scene = Scene::after([
        promote_with("t0", 1, [set("a", "text"), set("z", "text")], []),
        stage("t", "first", 9, [increment("a", 1)]),
        stage("t", "second", 1, [increment("z", 1)]),
    ]);
    assert_eq!(scene.refused(promote_staged("t", 2)), Refusal::MergeConflict { key: "z".into() });
    assert_eq!(
        scene.refused(promote_with("t", 2, [increment("a", 1)], [])),
        Refusal::MergeConflict { key: "a".into() }
    );
}

#[test]
fn state_keys_sort_and_compare_by_their_bytes() {
    assert_eq!(merged([set("é", 1), set("e\u{301}", 2)]), state("{\"e\u{301}\":2,\"é\":1}"));
}

#[test]
fn a_value_appended_to_keeps_its_earlier_readers_unchanged() {
    let mut scene = Scene::after([promote_with("t1", 1, [append_to("k", [1])], [])]);
    let before = scene.session().state.clone();
    scene.done(promote_with("t2", 2, [append_to("k", [2])], []));
    assert_eq!(before.get(&"k".into()), Some(&Value::array(vec![1.into()])));
}

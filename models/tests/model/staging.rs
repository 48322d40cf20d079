//! Tool calls stage under their step until it is promoted or discarded.

use super::Scene;
use crate::words::*;
use stagefault_models::{Refusal, Reply};

#[test]
fn what_is_staged_is_not_visible_in_the_state() {
    let mut scene = Scene::after([]);
    assert_eq!(scene.done(stage("t", "c", 5, [set("k", 1)])), Reply::Staged);
    assert_eq!((scene.state().as_str(), scene.session().version), ("{}", 1));
    assert_eq!(scene.staged(), [("t", "c", 5)]);
}

#[test]
fn a_retried_call_replaces_what_it_staged_before_with_its_time() {
    let mut scene = Scene::after([
        stage("t", "retried", 9, [increment("k", 1), set("gone", 1)]),
        stage("t", "retried", 2, [increment("k", 10)]),
    ]);
    assert_eq!(scene.staged(), [("t", "retried", 2)]);
    assert_eq!(
        scene.done(promote_staged("t", 1)),
        Reply::Promoted { version: 2, applied: 1, appended: 0 }
    );
    assert_eq!(scene.state(), r#"{"k":10}"#);
}

#[test]
fn the_same_call_id_may_stage_under_several_steps() {
    let scene = Scene::after([stage("t2", "c", 1, []), stage("t1", "c", 2, [])]);
    assert_eq!(scene.staged(), [("t1", "c", 2), ("t2", "c", 1)]);
}

#[test]
fn a_call_that_stages_no_changes_is_staged_and_counts() {
    let mut scene = Scene::after([stage("t", "c", 1, [])]);
    assert_eq!(
        scene.done(promote_staged("t", 1)),
        Reply::Promoted { version: 2, applied: 1, appended: 0 }
    );
}

#[test]
fn changes_that_will_conflict_can_be_staged() {
    let mut scene = Scene::after([promote_with("t1", 1, [set("k", "text")], [])]);
    assert_eq!(scene.done(stage("t2", "c", 1, [increment("k", 1)])), Reply::Staged);
}

#[test]
fn nothing_is_staged_under_the_last_promoted_step() {
    let mut scene = Scene::after([promote_staged("t", 1)]);
    assert_eq!(scene.refused(stage("t", "late", 1, [])), Refusal::StepClosed);
}

#[test]
fn an_older_step_may_be_staged_again() {
    let mut scene = Scene::after([promote_staged("t1", 1), promote_staged("t2", 2)]);
    assert_eq!(scene.done(stage("t1", "c", 1, [])), Reply::Staged);
    assert_eq!(scene.refused(stage("t2", "c", 1, [])), Refusal::StepClosed);
}

#[test]
fn a_discard_drops_the_calls_of_its_step_only_and_counts_them() {
    let mut scene =
        Scene::after([stage("t1", "a", 1, []), stage("t1", "b", 2, []), stage("t2", "a", 3, [])]);
    assert_eq!(scene.done(discard("t1")), Reply::Discarded { calls: 2 });
    assert_eq!(scene.staged(), [("t2", "a", 3)]);
    assert_eq!(scene.unchanged(discard("t1")), Reply::Discarded { calls: 0 });
}

#[test]
fn a_discard_does_not_close_its_step() {
    let mut scene = Scene::after([stage("t", "c", 1, []), discard("t")]);
    assert_eq!(scene.session().last_step, None);
    assert_eq!(scene.done(stage("t", "c", 2, [])), Reply::Staged);
    assert_eq!(
        scene.done(promote_staged("t", 1)),
        Reply::Promoted { version: 2, applied: 1, appended: 0 }
    );
}

#[test]
fn a_discard_of_the_closed_step_finds_nothing() {
    let mut scene = Scene::after([stage("t", "c", 1, []), promote_staged("t", 1)]);
    assert_eq!(scene.unchanged(discard("t")), Reply::Discarded { calls: 0 });
}

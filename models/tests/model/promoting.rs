//! A promote: all its parts at once, guarded by the version, and safe to repeat.

use super::Scene;
use crate::words::*;
use stagefault_models::{Operation, Promote, Refusal, Reply, Status};

#[test]
fn a_promote_does_all_its_parts_at_once() {
    let mut scene = Scene::after([
        append([message("m1", 1)]),
        stage("t", "a", 5, [increment("k", 10)]),
        stage("t", "b", 6, []),
        stage("other", "a", 5, [set("k", 0)]),
    ]);
    let whole = Operation::Promote(Promote {
        status: Some(Status::SuspendedClientTool),
        changes: vec![set("k", 1)],
        messages: vec![message("m1", 1), message("m2", 2)],
        ..promote("t", 1)
    });
    assert_eq!(scene.done(whole), Reply::Promoted { version: 2, applied: 2, appended: 1 });
    assert_eq!(scene.state(), r#"{"k":11}"#);
    assert_eq!(scene.messages(), ["m1", "m2"]);
    assert_eq!(scene.staged(), [("other", "a", 5)]);
    assert_eq!(scene.session().last_step, Some("t".into()));
    assert_eq!(scene.session().status, Status::SuspendedClientTool);
    assert_eq!(scene.session().version, 2);
}

#[test]
fn a_promote_of_nothing_moves_the_version_and_closes_the_step() {
    let mut scene = Scene::after([]);
    assert_eq!(
        scene.done(promote_staged("t", 1)),
        Reply::Promoted { version: 2, applied: 0, appended: 0 }
    );
    assert_eq!(scene.session().last_step, Some("t".into()));
}

#[test]
fn a_promote_without_a_status_leaves_it() {
    let scene =
        Scene::after([set_status([Status::Active], Status::Interrupted), promote_staged("t", 2)]);
    assert_eq!(scene.session().status, Status::Interrupted);
}

#[test]
fn of_two_promotes_with_the_same_expected_version_one_is_stale() {
    let mut scene = Scene::after([promote_staged("t1", 1)]);
    assert_eq!(
        scene.refused(promote_staged("t2", 1)),
        Refusal::StaleState { expected: 1, current: 2 }
    );
}

#[test]
fn a_promote_that_expects_a_later_version_is_stale_too() {
    for expected in [0, 2, u64::MAX] {
        assert_eq!(
            Scene::after([]).refused(promote_staged("t", expected)),
            Refusal::StaleState { expected, current: 1 }
        );
    }
}

#[test]
fn a_promote_repeated_learns_that_its_step_is_closed_whatever_it_expects() {
    let mut scene = Scene::after([promote_with("t", 1, [increment("k", 1)], [message("m", 1)])]);
    for expected in [1, 2] {
        let again = promote_with("t", expected, [increment("k", 1)], [message("m", 1)]);
        assert_eq!(scene.refused(again), Refusal::StepClosed);
    }
}

#[test]
fn an_older_step_may_be_promoted_again() {
    let mut scene = Scene::after([
        promote_with("t1", 1, [increment("k", 1)], []),
        promote_staged("t2", 2),
        stage("t1", "c", 1, [increment("k", 10)]),
    ]);
    assert_eq!(
        scene.done(promote_staged("t1", 3)),
        Reply::Promoted { version: 4, applied: 1, appended: 0 }
    );
    assert_eq!(scene.state(), r#"{"k":11}"#);
    assert_eq!(scene.refused(promote_staged("t1", 4)), Refusal::StepClosed);
    assert_eq!(scene.done(stage("t2", "c", 1, [])), Reply::Staged);
}

#[test]
fn messages_and_status_changes_between_do_not_open_the_step() {
    let mut scene = Scene::after([
        promote_staged("t", 1),
        append([message("m", 1)]),
        set_status([Status::Active], Status::Active),
    ]);
    assert_eq!(scene.refused(promote_staged("t", 3)), Refusal::StepClosed);
}

#[test]
fn a_promote_with_a_conflicting_message_changes_nothing() {
    let mut scene = Scene::after([append([message("m", 1)]), stage("t", "c", 1, [set("k", 1)])]);
    assert_eq!(
        scene.refused(promote_with("t", 1, [set("k", 2)], [message("n", 1), message("m", 2)])),
        Refusal::MessageConflict { id: "m".into() }
    );
}

#[test]
fn a_promote_with_conflicting_changes_changes_nothing() {
    let mut scene = Scene::after([stage("t", "c", 1, [append_to("k", [1])])]);
    assert_eq!(
        scene.refused(promote_with("t", 1, [set("k", 2)], [message("m", 1)])),
        Refusal::MergeConflict { key: "k".into() }
    );
}

//! Breaches that are called atomicity.

use super::Scene;
use crate::words::*;
use stagefault_models::{
    Cause, Completion, Failure, Invariant, Operation, Promote, Reason, Reply, Status,
};

#[track_caller]
fn breaks(scene: Scene, because: &str) {
    scene.breaks(Invariant::Atomicity, because);
}

/// The reason that atomicity itself gives, whichever invariant is asked first.
fn atomicity(scene: &Scene) -> Option<String> {
    Invariant::Atomicity.breach(&stagefault_models::Observation {
        session: &scene.session,
        operation: &scene.operation,
        completion: &scene.completion,
        before: scene.before.as_ref(),
        after: scene.after.as_ref(),
    })
}

/// A promote with all that a promote may have.
fn whole() -> Scene {
    let operation = Operation::Promote(Promote {
        status: Some(Status::Completed),
        changes: vec![append_to("k", [1])],
        messages: vec![message("m", 1)],
        ..promote("t", 1)
    });
    Scene::after([stage("t", "c", 1, [append_to("k", [2])])], operation).holds()
}

#[test]
fn a_promote_clears_its_staging_and_does_not_apply_it() {
    let scene = whole().seen(|snapshot| drop(snapshot.state.insert("k".into(), json("[1]"))));
    breaks(
        scene,
        "a promote was done in part: the status, the messages, the cleared staging, \
         the closed step and the next version can be seen, and not the state",
    );
}

#[test]
fn a_promote_applies_its_staging_before_its_own_changes() {
    let scene = whole().seen(|snapshot| drop(snapshot.state.insert("k".into(), json("[2,1]"))));
    breaks(
        scene,
        "a promote was done in part: the status, the messages, the cleared staging, \
         the closed step and the next version can be seen, and not the state",
    );
}

#[test]
fn a_promote_does_not_close_its_step_nor_set_its_status() {
    let scene = whole().seen(|snapshot| {
        snapshot.last_step = None;
        snapshot.status = Status::Active;
    });
    breaks(
        scene,
        "a promote was done in part: the state, the messages, the cleared staging and \
         the next version can be seen, and not the status and the closed step",
    );
}

#[test]
fn a_promote_is_acknowledged_and_its_session_is_gone() {
    let mut scene = whole();
    scene.after = None;
    breaks(scene, "a promote was done, and the session is gone");
}

#[test]
fn a_promote_acknowledged_and_lost_is_named_by_its_parts() {
    let because = "a promote was done in part: nothing can be seen, and not the state, \
                   the status, the messages, the cleared staging, the closed step and \
                   the next version";
    assert_eq!(atomicity(&whole().without_effect()).as_deref(), Some(because));
}

#[test]
fn a_promote_is_accepted_in_spite_of_a_conflict() {
    let scene = Scene::after([stage("t", "c", 1, [set("k", "text")])], promote_staged("t", 1));
    let conflicting = promote_with("t", 1, [increment("k", 1), append_to("k", [1])], []);
    breaks(
        scene.holds().asked(conflicting),
        "a promote was done in spite of its conflict at \"k\"",
    );
}

#[test]
fn a_refused_promote_changes_the_state() {
    let scene = Scene::after([], promote_with("t", 9, [set("k", 1)], [])).holds();
    breaks(
        scene.seen(|snapshot| drop(snapshot.state.insert("k".into(), 1.into()))),
        "Promote answered StaleState and changed the state",
    );
}

#[test]
fn a_refused_promote_leaves_its_messages_and_loses_its_staging() {
    let history = [append([message("m", 1)]), stage("t", "c", 1, [])];
    let conflicting = promote_with("t", 1, [], [message("new", 1), message("m", 2)]);
    let scene = Scene::after(history, conflicting).holds();
    breaks(
        scene
            .messages(|messages| messages.push(message("new", 1)))
            .seen(|snapshot| snapshot.staged.clear()),
        "Promote answered MessageConflict and changed the messages, \
         the count of messages and the staging",
    );
}

#[test]
fn an_append_that_was_not_applied_turns_out_applied() {
    let failure = Failure { cause: Cause::Connection, reason: Reason("reset".into()) };
    let mut scene = Scene::after([], append([message("m", 1)])).holds();
    scene.completion = Completion::NotApplied(failure);
    breaks(
        scene,
        "AppendMessages answered NotApplied and changed the messages and the count of messages",
    );
}

#[test]
fn a_refused_operation_makes_or_removes_a_session() {
    let mut made = Scene::after([delete()], load()).holds();
    made.after = Scene::after([], load()).after;
    breaks(made, "Load answered SessionNotFound and changed that there is a session");
    let mut removed = Scene::after([], create()).holds();
    removed.after = None;
    breaks(
        removed,
        "CreateSession answered SessionExists and changed that there is no session any more",
    );
}

#[test]
fn another_operation_than_a_promote_touches_the_state_or_the_last_step() {
    let scene = Scene::after([promote_with("t", 1, [set("k", 1)], [])], touch(None)).holds();
    breaks(
        scene.clone().seen(|snapshot| snapshot.state.clear()),
        "Touch changed the promoted state, which only a promote may",
    );
    breaks(
        scene.seen(|snapshot| snapshot.last_step = None),
        "Touch changed the last promoted step, which only a promote may",
    );
    let scene = Scene::after([], stage("t", "c", 1, [set("k", 1)])).holds();
    breaks(
        scene.seen(|snapshot| drop(snapshot.state.insert("k".into(), 1.into()))),
        "Stage changed the promoted state, which only a promote may",
    );
}

#[test]
fn state_outlives_its_session() {
    let history = [promote_with("t", 1, [set("k", 1)], []), delete()];
    let scene = Scene::after(history, create()).holds();
    breaks(
        scene.seen(|snapshot| drop(snapshot.state.insert("k".into(), 1.into()))),
        "CreateSession changed the promoted state, which only a promote may",
    );
}

#[test]
fn a_difference_that_no_invariant_speaks_of_is_left_to_truth() {
    let scene = Scene::after([append([message("m", 1)])], read(0, 1)).holds();
    scene.answered(Reply::Page { messages: vec![], total: 1 }).holds();
}

//! Breaches that are called coordination.

use super::Scene;
use crate::words::*;
use stagefault_models::{Invariant, Operation, Promote, Reply, Status};

#[track_caller]
fn breaks(scene: Scene, because: &str) {
    scene.breaks(Invariant::Coordination, because);
}

#[test]
fn a_touch_moves_the_status() {
    breaks(
        Scene::after([], touch(None)).holds().seen(|snapshot| snapshot.status = Status::Failed),
        "the status went from active to failed, which nobody asked for",
    );
}

#[test]
fn a_status_change_is_accepted_from_outside_its_set() {
    let scene = Scene::after([], set_status([Status::Active], Status::Completed)).holds();
    breaks(
        scene.asked(set_status([Status::Failed], Status::Completed)),
        "a status change from active was done, which is not in its set",
    );
}

#[test]
fn a_status_change_is_refused_and_changes_the_status_all_the_same() {
    let scene = Scene::after([], set_status([Status::Failed], Status::Completed)).holds();
    breaks(
        scene.seen(|snapshot| snapshot.status = Status::Completed),
        "the status went from active to completed, which nobody asked for",
    );
}

#[test]
fn a_status_change_is_lost() {
    let scene = Scene::after([], set_status([Status::Active], Status::Completed)).holds();
    breaks(
        scene.seen(|snapshot| snapshot.status = Status::Active),
        "the status was set to completed and is active",
    );
}

#[test]
fn a_promote_sets_another_status_than_it_names() {
    let operation =
        Operation::Promote(Promote { status: Some(Status::Completed), ..promote("t", 1) });
    breaks(
        Scene::after([], operation).holds().seen(|snapshot| snapshot.status = Status::Failed),
        "the status went from active to failed, which nobody asked for",
    );
    breaks(
        Scene::after([set_status([Status::Active], Status::Interrupted)], promote_staged("t", 2))
            .holds()
            .seen(|snapshot| snapshot.status = Status::Active),
        "the status went from interrupted to active, which nobody asked for",
    );
}

#[test]
fn a_run_begins_twice() {
    let scene = Scene::after([begin_run("r")], begin_run("r")).holds();
    breaks(
        scene.answered(Reply::RunBegun { turn: 2 }).seen(|snapshot| snapshot.runs.push("r".into())),
        "the runs were [\"r\"], began None, and are [\"r\", \"r\"]",
    );
}

#[test]
fn a_run_is_lost_or_moved() {
    let scene = Scene::after([begin_run("a")], begin_run("b")).holds();
    breaks(
        scene.clone().seen(|snapshot| snapshot.runs.reverse()),
        "the runs were [\"a\"], began Some(\"b\"), and are [\"b\", \"a\"]",
    );
    breaks(scene.without_effect(), "the runs were [\"a\"], began Some(\"b\"), and are [\"a\"]");
}

#[test]
fn a_replayed_run_is_given_another_turn() {
    let scene = Scene::after([begin_run("a"), begin_run("b")], begin_run("a")).holds();
    breaks(scene.answered(Reply::RunBegun { turn: 2 }), "run \"a\" is turn 1, the reply says 2");
}

#[test]
fn an_interrupt_is_taken_twice() {
    let scene =
        Scene::after([request_interrupt(), consume_interrupt()], consume_interrupt()).holds();
    breaks(
        scene.answered(Reply::Interrupt { taken: true }),
        "an interrupt was taken that was not requested, or taken already",
    );
}

#[test]
fn an_interrupt_is_lost() {
    let scene = Scene::after([request_interrupt()], consume_interrupt()).holds();
    breaks(
        scene.answered(Reply::Interrupt { taken: false }),
        "an interrupt was requested, and its consumer was told of none",
    );
    let scene = Scene::after([], request_interrupt()).holds();
    breaks(scene.without_effect(), "the interrupt flag is not set and should be set");
}

#[test]
fn an_interrupt_taken_stays_set() {
    let scene = Scene::after([request_interrupt()], consume_interrupt()).holds();
    breaks(scene.without_effect(), "the interrupt flag is set and should be not set");
}

#[test]
fn a_promote_clears_the_interrupt() {
    let scene = Scene::after([request_interrupt()], promote_staged("t", 1)).holds();
    breaks(
        scene.seen(|snapshot| snapshot.interrupt = false),
        "the interrupt flag is not set and should be set",
    );
}

#[test]
fn an_expiry_is_moved_by_another_operation_or_not_by_its_own() {
    let scene = Scene::after([touch(Some(9))], promote_staged("t", 1)).holds();
    breaks(
        scene.seen(|snapshot| snapshot.expires_at = None),
        "the session expires never and should expire at 9",
    );
    let scene = Scene::after([touch(Some(9))], touch(None)).holds();
    breaks(scene.without_effect(), "the session expires at 9 and should expire never");
    let scene = Scene::after([delete()], create_until(Some(9))).holds();
    breaks(
        scene.seen(|snapshot| snapshot.expires_at = None),
        "the session expires never and should expire at 9",
    );
}

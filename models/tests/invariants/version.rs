//! Breaches that are called version monotonicity.

use super::Scene;
use crate::words::*;
use stagefault_models::{Invariant, Reply, Status};

#[track_caller]
fn breaks(scene: Scene, because: &str) {
    scene.breaks(Invariant::VersionMonotonicity, because);
}

#[test]
fn a_promote_is_accepted_that_expected_another_version() {
    let scene = Scene::after([promote_staged("t1", 1)], promote_staged("t2", 2));
    breaks(
        scene.holds().asked(promote_staged("t2", 1)),
        "a promote that expected version 1 was done at version 2",
    );
}

#[test]
fn two_promotes_succeed_with_the_same_expected_version() {
    let second = Scene::after([promote_staged("t1", 1)], promote_staged("t2", 1)).holds();
    let promoted = Reply::Promoted { version: 2, applied: 0, appended: 0 };
    breaks(second.answered(promoted), "a promote that expected version 1 was done at version 2");
}

#[test]
fn a_promote_does_not_move_the_version() {
    let scene = Scene::after([], promote_staged("t", 1)).holds();
    breaks(
        scene.seen(|snapshot| snapshot.version = 1),
        "Promote moved the version from 1 to 1 instead of adding one",
    );
}

#[test]
fn a_status_change_moves_the_version_by_two() {
    let scene = Scene::after([], set_status([Status::Active], Status::Active)).holds();
    breaks(
        scene.seen(|snapshot| snapshot.version = 3),
        "CompareAndSetStatus moved the version from 1 to 3 instead of adding one",
    );
}

#[test]
fn an_append_moves_the_version() {
    let scene = Scene::after([], append([message("m", 1)])).holds();
    breaks(
        scene.seen(|snapshot| snapshot.version = 2),
        "AppendMessages moved the version from 1 to 2, which is not its to move",
    );
}

#[test]
fn a_version_falls_under_a_refused_promote() {
    let scene = Scene::after([promote_staged("t", 1)], promote_staged("t", 2)).holds();
    breaks(scene.seen(|snapshot| snapshot.version = 1), "the version fell from 2 to 1");
}

#[test]
fn a_session_is_created_over_one_that_exists() {
    let scene = Scene::after([promote_staged("t", 1)], create()).holds();
    let created = Reply::Created { version: 1 };
    breaks(
        scene.answered(created).seen(|snapshot| snapshot.version = 1),
        "the version fell from 2 to 1",
    );
}

#[test]
fn a_session_created_again_goes_on_with_its_former_version() {
    let scene = Scene::after([promote_staged("t", 1), delete()], create()).holds();
    breaks(
        scene.answered(Reply::Created { version: 2 }).seen(|snapshot| snapshot.version = 2),
        "CreateSession moved the version from 1 to 2, which is not its to move",
    );
}

#[test]
fn a_reply_names_another_version_than_the_session_has() {
    let scene = Scene::after([], promote_staged("t", 1)).holds();
    breaks(
        scene.answered(Reply::Promoted { version: 1, applied: 0, appended: 0 }),
        "the reply says version 1, the session is at 2",
    );
    let scene = Scene::after([], set_status([Status::Active], Status::Failed)).holds();
    breaks(
        scene.answered(Reply::StatusSet { version: 3 }),
        "the reply says version 3, the session is at 2",
    );
}

//! Breaches that are called staging cleanup.

use super::Scene;
use crate::words::*;
use stagefault_models::{CleanedStaging, Invariant, Reply, StagedMark};

#[track_caller]
fn breaks(scene: Scene, because: &str) {
    scene.breaks(Invariant::StagingCleanup, because);
}

fn mark(step: &str, call: &str, at: u64) -> StagedMark {
    StagedMark { step: step.into(), call: call.into(), at }
}

#[test]
fn a_staged_row_outlives_its_promote() {
    let scene = Scene::after([stage("t", "c", 1, [])], promote_staged("t", 1)).holds();
    breaks(
        scene.seen(|snapshot| snapshot.staged.push(mark("t", "c", 1))),
        "\"c\" is staged under \"t\", the step promoted last",
    );
}

#[test]
fn a_late_stage_is_refused_and_leaves_a_row_all_the_same() {
    let scene = Scene::after([promote_staged("t", 1)], stage("t", "late", 1, [])).holds();
    breaks(
        scene.seen(|snapshot| snapshot.staged.push(mark("t", "late", 1))),
        "\"late\" is staged under \"t\", the step promoted last",
    );
}

#[test]
fn a_late_stage_is_accepted_and_vanishes() {
    let scene = Scene::after([promote_staged("t", 1)], stage("t", "late", 1, [])).holds();
    breaks(scene.answered(Reply::Staged), "Stage was done under \"t\", the step promoted last");
}

#[test]
fn a_promote_is_applied_twice() {
    let scene = Scene::after([promote_staged("t", 1)], promote_staged("t", 2)).holds();
    breaks(
        scene
            .answered(Reply::Promoted { version: 3, applied: 0, appended: 0 })
            .seen(|snapshot| snapshot.version = 3),
        "Promote was done under \"t\", the step promoted last",
    );
}

#[test]
fn a_promote_clears_the_staging_of_another_step() {
    let scene =
        Scene::after([stage("t1", "c", 1, []), stage("t2", "c", 1, [])], promote_staged("t1", 1));
    breaks(
        scene.holds().seen(|snapshot| snapshot.staged.clear()),
        "what \"c\" staged under \"t2\" went missing",
    );
}

#[test]
fn a_call_staged_meanwhile_is_deleted_unapplied() {
    let scene = Scene::after([stage("t", "c", 1, [])], promote_staged("t", 1)).holds();
    breaks(
        scene.answered(Reply::Promoted { version: 2, applied: 0, appended: 0 }),
        "the reply counts 0 staged calls, there were 1",
    );
}

#[test]
fn a_discard_leaves_a_row() {
    let scene = Scene::after([stage("t", "c", 1, [])], discard("t")).holds();
    breaks(
        scene.seen(|snapshot| snapshot.staged.push(mark("t", "c", 1))),
        "\"c\" is staged under \"t\" and should not be",
    );
}

#[test]
fn a_discard_counts_what_was_not_there() {
    let scene = Scene::after([], discard("t")).holds();
    breaks(
        scene.answered(Reply::Discarded { calls: 1 }),
        "the reply counts 1 staged calls, there were 0",
    );
}

#[test]
fn a_stage_is_lost() {
    let scene = Scene::after([], stage("t", "c", 1, [])).holds();
    breaks(scene.without_effect(), "what \"c\" staged under \"t\" went missing");
}

#[test]
fn a_retried_stage_keeps_its_former_time() {
    let scene = Scene::after([stage("t", "c", 1, [])], stage("t", "c", 2, [])).holds();
    breaks(scene.without_effect(), "\"c\" was staged under \"t\" at 2 and is there as of 1");
}

#[test]
fn a_retried_stage_is_there_twice() {
    let scene = Scene::after([stage("t", "c", 1, [])], stage("t", "c", 1, [])).holds();
    breaks(
        scene.seen(|snapshot| snapshot.staged.push(mark("t", "c", 1))),
        "\"c\" is staged twice under \"t\"",
    );
}

#[test]
fn staging_outlives_its_session() {
    let scene = Scene::after([stage("t", "c", 1, []), delete()], create()).holds();
    breaks(
        scene.seen(|snapshot| snapshot.staged.push(mark("t", "c", 1))),
        "\"c\" is staged under \"t\" and should not be",
    );
}

#[test]
fn staging_outlives_its_ttl() {
    let scene = Scene::after([stage("t", "c", 1, [])], cleanup(3, 2)).holds();
    breaks(scene.without_effect(), "\"c\" is staged under \"t\" and should not be");
}

#[test]
fn young_staging_is_cleaned_up() {
    let scene = Scene::after([stage("t", "young", 2, [])], cleanup(3, 2)).holds();
    breaks(
        scene.seen(|snapshot| snapshot.staged.clear()),
        "what \"young\" staged under \"t\" went missing",
    );
}

#[test]
fn a_cleanup_lists_other_staging_than_it_removed() {
    let scene = Scene::after([stage("t", "c", 1, [])], cleanup(3, 2)).holds();
    let row = || CleanedStaging { session: "s".into(), step: "t".into(), call: "c".into() };
    let listed = |staged| Reply::Cleaned { sessions: vec![], staged };
    breaks(
        scene.clone().answered(listed(vec![])),
        "[] are listed as removed staging, [(\"t\", \"c\")] had to be removed",
    );
    breaks(
        scene.clone().answered(listed(vec![row(), row()])),
        "[(\"t\", \"c\"), (\"t\", \"c\")] are listed as removed staging, \
         [(\"t\", \"c\")] had to be removed",
    );
    let elsewhere = CleanedStaging { session: "other".into(), ..row() };
    scene.answered(listed(vec![elsewhere, row()])).holds();
}

#[test]
fn a_cleanup_lists_the_staging_of_the_session_that_it_removed() {
    let scene = Scene::after([stage("t", "c", 1, []), touch(Some(3))], cleanup(3, 2)).holds();
    let staged = vec![CleanedStaging { session: "s".into(), step: "t".into(), call: "c".into() }];
    breaks(
        scene.answered(Reply::Cleaned { sessions: vec!["s".into()], staged }),
        "[(\"t\", \"c\")] are listed as removed staging, [] had to be removed",
    );
}

#[test]
fn a_cleanup_spares_a_session_that_expired_or_removes_one_that_did_not() {
    let expired = Scene::after([touch(Some(3))], cleanup(3, 0)).holds();
    breaks(expired.without_effect(), "a cleanup was done, and the session is still there");
    let mut unexpired = Scene::after([touch(Some(4))], cleanup(3, 0)).holds();
    unexpired.after = None;
    breaks(unexpired, "a cleanup was done, and the session was removed unexpired");
}

#[test]
fn a_cleanup_lists_a_session_that_it_did_not_remove() {
    let listed = Reply::Cleaned { sessions: vec!["s".into()], staged: vec![] };
    let because = "the session was not removed and is listed 1 times as removed";
    breaks(Scene::after([], cleanup(3, 0)).holds().answered(listed.clone()), because);
    breaks(Scene::after([delete()], cleanup(3, 0)).holds().answered(listed), because);
}

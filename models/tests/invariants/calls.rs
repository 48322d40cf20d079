//! Breaches that are called call lifecycle.

use super::Scene;
use crate::words::*;
use stagefault_models::{Call, CallState, ExpiredCall, Invariant, Reply, Snapshot};

#[track_caller]
fn breaks(scene: Scene, because: &str) {
    scene.breaks(Invariant::CallLifecycle, because);
}

/// Puts the call `c` into this state.
fn put(state: CallState) -> impl FnOnce(&mut Snapshot) {
    |snapshot| snapshot.calls.get_mut(&"c".into()).expect("registered").state = state
}

fn submitted(result: i64) -> CallState {
    CallState::Submitted(result.into())
}

fn registered(submit: stagefault_models::Operation) -> Scene {
    Scene::after([register("c", "r", 10)], submit).holds()
}

#[test]
fn a_late_submit_is_accepted() {
    let scene = registered(submit("c", "r", 1, 10)).answered(Reply::Submitted);
    let because = "a result was accepted for call \"c\" at 10, its deadline being 10";
    breaks(scene.clone().seen(put(submitted(1))), because);
    breaks(scene, because);
}

#[test]
fn a_late_submit_is_refused_and_counts_all_the_same() {
    breaks(
        registered(submit("c", "r", 1, 10)).seen(put(submitted(1))),
        "call \"c\" went from pending to submitted, which nothing allowed",
    );
}

#[test]
fn a_submit_after_the_sweep_is_accepted() {
    let history = [register("c", "r", 10), expire_calls(10)];
    let scene = Scene::after(history, submit("c", "r", 1, 9)).holds();
    let because = "a result was accepted for call \"c\" that had expired";
    breaks(scene.clone().answered(Reply::Submitted), because);
    breaks(scene.answered(Reply::Submitted).seen(put(submitted(1))), because);
}

#[test]
fn a_submit_of_another_run_is_accepted() {
    breaks(
        registered(submit("c", "other", 1, 9)).answered(Reply::Submitted).seen(put(submitted(1))),
        "a result was accepted for call \"c\" from run \"other\", it being of \"r\"",
    );
}

#[test]
fn a_submit_for_no_call_is_accepted() {
    breaks(
        Scene::after([], submit("c", "r", 1, 9)).holds().answered(Reply::Submitted),
        "a result was accepted for call \"c\" that nobody registered",
    );
}

#[test]
fn a_second_result_replaces_the_first() {
    let history = [register("c", "r", 10), submit("c", "r", 1, 9)];
    let scene = Scene::after(history, submit("c", "r", 2, 9)).holds();
    breaks(
        scene.clone().answered(Reply::Submitted).seen(put(submitted(2))),
        "a result was accepted for call \"c\" that had another result already",
    );
    breaks(
        scene.seen(put(submitted(2))),
        "call \"c\" went from submitted to submitted, which nothing allowed",
    );
}

#[test]
fn an_accepted_result_is_lost() {
    breaks(
        registered(submit("c", "r", 1, 9)).without_effect(),
        "the accepted result of call \"c\" is not there",
    );
}

#[test]
fn an_accepted_result_comes_back_altered() {
    breaks(
        registered(submit("c", "r", json("[]"), 9)).seen(put(CallState::Submitted(json("{}")))),
        "the accepted result of call \"c\" is not there",
    );
}

#[test]
fn a_registration_reopens_a_call() {
    let history = [register("c", "r", 10), expire_calls(10)];
    breaks(
        Scene::after(history, register("c", "r", 10)).holds().seen(put(CallState::Pending)),
        "call \"c\" went from expired to pending, which nothing allowed",
    );
}

#[test]
fn a_registration_is_lost_or_resolved_at_once() {
    let scene = Scene::after([], register("c", "r", 10)).holds();
    breaks(scene.clone().without_effect(), "call \"c\" was registered and is not there");
    breaks(scene.seen(put(CallState::Expired)), "call \"c\" was registered and is expired at once");
}

#[test]
fn a_registration_moves_the_deadline_of_a_call() {
    let scene = registered(register("c", "r", 20));
    breaks(
        scene.clone().answered(Reply::Registered),
        "call \"c\" was registered and is there with another run or deadline",
    );
    let moved = Call { run: "r".into(), deadline: 20, state: CallState::Pending };
    let put_off = |snapshot: &mut Snapshot| drop(snapshot.calls.insert("c".into(), moved));
    let because = "call \"c\" changed its run or deadline";
    breaks(scene.clone().seen(put_off.clone()), because);
    breaks(scene.answered(Reply::Registered).seen(put_off), because);
}

#[test]
fn a_call_vanishes_within_its_session() {
    breaks(
        registered(promote_staged("t", 1))
            .seen(|snapshot| drop(snapshot.calls.remove(&"c".into()))),
        "call \"c\" vanished",
    );
}

#[test]
fn a_call_outlives_its_session() {
    let call = Call { run: "r".into(), deadline: 10, state: CallState::Pending };
    breaks(
        Scene::after([register("c", "r", 10), delete()], create())
            .holds()
            .seen(|snapshot| drop(snapshot.calls.insert("c".into(), call))),
        "call \"c\" is there and was never registered",
    );
}

#[test]
fn a_sweep_expires_a_call_before_its_deadline() {
    breaks(
        registered(expire_calls(9)).seen(put(CallState::Expired)),
        "call \"c\" went from pending to expired, which nothing allowed",
    );
}

#[test]
fn a_sweep_expires_a_call_that_was_submitted() {
    let history = [register("c", "r", 10), submit("c", "r", 1, 9)];
    let scene = Scene::after(history, expire_calls(10)).holds();
    breaks(
        scene.clone().seen(put(CallState::Expired)),
        "call \"c\" went from submitted to expired, which nothing allowed",
    );
    let listed = vec![ExpiredCall { session: "s".into(), call: "c".into() }];
    breaks(
        scene.answered(Reply::CallsExpired(listed)),
        "calls [\"c\"] are listed as expired, and [] were due",
    );
}

#[test]
fn a_sweep_lists_a_call_that_it_left_pending() {
    breaks(
        registered(expire_calls(10)).without_effect(),
        "call \"c\" was due when it was swept, and is still pending",
    );
}

#[test]
fn a_sweep_lists_other_calls_than_it_expired() {
    let scene = registered(expire_calls(10));
    let row = || ExpiredCall { session: "s".into(), call: "c".into() };
    breaks(
        scene.clone().answered(Reply::CallsExpired(vec![])),
        "calls [] are listed as expired, and [\"c\"] were due",
    );
    breaks(
        scene.clone().answered(Reply::CallsExpired(vec![row(), row()])),
        "calls [\"c\", \"c\"] are listed as expired, and [\"c\"] were due",
    );
    let elsewhere = ExpiredCall { session: "other".into(), ..row() };
    scene.answered(Reply::CallsExpired(vec![elsewhere, row()])).holds();
}

#[test]
fn a_sweep_lists_a_call_of_a_session_that_is_gone() {
    let listed = vec![ExpiredCall { session: "s".into(), call: "c".into() }];
    breaks(
        Scene::after([register("c", "r", 10), delete()], expire_calls(10))
            .holds()
            .answered(Reply::CallsExpired(listed)),
        "calls [\"c\"] are listed as expired, and [] were due",
    );
}

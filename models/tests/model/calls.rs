//! A client tool call is pending, then submitted or expired, once.

use super::Scene;
use crate::words::*;
use stagefault_models::{CallState, ExpiredCall, Refusal, Reply, Resolution};

const SUBMITTED: Refusal = Refusal::CallResolved { resolution: Resolution::Submitted };
const EXPIRED: Refusal = Refusal::CallResolved { resolution: Resolution::Expired };

impl Scene {
    fn call(&self) -> &CallState {
        &self.session().calls.get(&"c".into()).expect("registered").state
    }
}

#[test]
fn a_call_is_registered_pending_and_needs_no_known_run() {
    let mut scene = Scene::after([]);
    assert_eq!(scene.done(register("c", "unknown", 10)), Reply::Registered);
    assert_eq!(*scene.call(), CallState::Pending);
    assert_eq!(scene.session().runs, []);
}

#[test]
fn a_call_registered_again_is_the_same_call() {
    let mut scene = Scene::after([register("c", "r", 10)]);
    assert_eq!(scene.unchanged(register("c", "r", 10)), Reply::Registered);
}

#[test]
fn a_registration_never_reopens_a_call() {
    let mut submitted = Scene::after([register("c", "r", 10), submit("c", "r", 1, 9)]);
    assert_eq!(submitted.unchanged(register("c", "r", 10)), Reply::Registered);
    let mut expired = Scene::after([register("c", "r", 10), expire_calls(10)]);
    assert_eq!(expired.unchanged(register("c", "r", 10)), Reply::Registered);
}

#[test]
fn a_call_is_not_registered_under_another_run_or_deadline() {
    let mut scene = Scene::after([register("c", "r", 10)]);
    assert_eq!(scene.refused(register("c", "other", 10)), Refusal::CallConflict);
    assert_eq!(scene.refused(register("c", "r", 11)), Refusal::CallConflict);
    scene.done(submit("c", "r", 1, 9));
    assert_eq!(scene.refused(register("c", "r", 9)), Refusal::CallConflict);
}

#[test]
fn a_result_is_submitted_before_the_deadline() {
    let mut scene = Scene::after([register("c", "r", 10)]);
    assert_eq!(scene.done(submit("c", "r", json("[1,{}]"), 9)), Reply::Submitted);
    assert_eq!(*scene.call(), CallState::Submitted(json("[1,{}]")));
    assert_eq!(scene.session().version, 1);
}

#[test]
fn a_result_at_or_after_the_deadline_never_counts() {
    let mut scene = Scene::after([register("c", "r", 10)]);
    assert_eq!(scene.refused(submit("c", "r", 1, 10)), Refusal::CallExpired);
    assert_eq!(scene.refused(submit("c", "r", 1, 11)), Refusal::CallExpired);
    let mut scene = Scene::after([register("c", "r", 0)]);
    assert_eq!(scene.refused(submit("c", "r", 1, 0)), Refusal::CallExpired);
}

#[test]
fn a_late_result_leaves_the_call_pending_for_an_earlier_now() {
    let mut scene = Scene::after([register("c", "r", 10)]);
    assert_eq!(scene.refused(submit("c", "r", 1, 10)), Refusal::CallExpired);
    assert_eq!(scene.done(submit("c", "r", 1, 9)), Reply::Submitted);
}

#[test]
fn the_same_result_again_is_submitted_also_after_the_deadline() {
    let mut scene = Scene::after([register("c", "r", 10), submit("c", "r", json("1.0"), 9)]);
    assert_eq!(scene.unchanged(submit("c", "r", json("1"), 9)), Reply::Submitted);
    assert_eq!(scene.unchanged(submit("c", "r", json("1e0"), 99)), Reply::Submitted);
}

#[test]
fn another_result_finds_the_call_resolved() {
    let mut scene = Scene::after([register("c", "r", 10), submit("c", "r", 1, 9)]);
    assert_eq!(scene.refused(submit("c", "r", 2, 9)), SUBMITTED);
    assert_eq!(scene.refused(submit("c", "r", json("null"), 99)), SUBMITTED);
}

#[test]
fn a_call_that_expired_takes_no_result() {
    let mut scene = Scene::after([register("c", "r", 10), expire_calls(10)]);
    assert_eq!(scene.refused(submit("c", "r", 1, 9)), EXPIRED);
    assert_eq!(scene.refused(submit("c", "r", 1, 10)), EXPIRED);
}

#[test]
fn a_result_needs_a_call_and_its_run() {
    let mut scene = Scene::after([register("c", "r", 10)]);
    assert_eq!(scene.refused(submit("nobody", "r", 1, 9)), Refusal::UnknownCall);
    assert_eq!(scene.refused(submit("c", "other", 1, 9)), Refusal::RunFenced { run: "r".into() });
}

#[test]
fn a_sweep_expires_pending_calls_from_their_deadline_on() {
    let mut scene = Scene::after([
        register("early", "r", 5),
        register("due", "r", 10),
        register("later", "r", 11),
        register("c", "r", 5),
        submit("c", "r", 1, 4),
    ]);
    let expired = |call: &str| ExpiredCall { session: "s".into(), call: call.into() };
    assert_eq!(
        scene.done(expire_calls(10)),
        Reply::CallsExpired(vec![expired("due"), expired("early")])
    );
    let empty = Reply::CallsExpired(vec![]);
    assert_eq!(scene.unchanged(expire_calls(10)), empty, "a call expires once");
    assert_eq!(*scene.call(), CallState::Submitted(1.into()));
}

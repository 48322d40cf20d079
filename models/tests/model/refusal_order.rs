//! Where several refusals hold, the first in the contract's order wins.

use super::Scene;
use crate::words::*;
use stagefault_models::{Operation, Promote, Refusal, Resolution, Status};

fn invalid() -> Refusal {
    Refusal::InvalidInput(stagefault_models::Reason("any two are equal".into()))
}

#[test]
fn each_refusal_of_a_promote_hides_the_later_ones() {
    let mut scene = Scene::after([
        append([message("m", 1)]),
        stage("t", "c", 1, [increment("k", 1)]),
        promote_with("closed", 1, [set("k", "text")], []),
    ]);
    // All refusals hold of this one; each line after it mends the one that came first.
    let mut request = Promote {
        changes: vec![set("", 1), increment("k", 1)],
        messages: vec![message("m", 2)],
        ..promote("closed", 1)
    };
    let mut absent = Scene::absent();
    assert_eq!(absent.refused(Operation::Promote(request.clone())), invalid());
    assert_eq!(scene.refused(Operation::Promote(request.clone())), invalid());

    request.changes.remove(0);
    assert_eq!(absent.refused(Operation::Promote(request.clone())), Refusal::SessionNotFound);
    assert_eq!(scene.refused(Operation::Promote(request.clone())), Refusal::StepClosed);

    request.step = "t".into();
    let stale = Refusal::StaleState { expected: 1, current: 2 };
    assert_eq!(scene.refused(Operation::Promote(request.clone())), stale);

    request.expected = 2;
    let conflict = Refusal::MessageConflict { id: "m".into() };
    assert_eq!(scene.refused(Operation::Promote(request.clone())), conflict);

    request.messages.clear();
    let conflict = Refusal::MergeConflict { key: "k".into() };
    assert_eq!(scene.refused(Operation::Promote(request.clone())), conflict);

    request.changes = vec![remove("k")];
    scene.done(Operation::Promote(request));
}

#[test]
fn each_refusal_of_a_submit_hides_the_later_ones() {
    let late = Scene::after([register("c", "r", 10)]);
    let mut submitted = Scene::after([register("c", "r", 10), submit("c", "r", 1, 9)]);
    let mut expired = Scene::after([register("c", "r", 10), expire_calls(10)]);

    let fenced = Refusal::RunFenced { run: "r".into() };
    assert_eq!(late.clone().refused(submit("c", "", 2, 99)), invalid());
    assert_eq!(Scene::absent().refused(submit("c", "other", 2, 99)), Refusal::SessionNotFound);
    assert_eq!(late.clone().refused(submit("unknown", "other", 2, 99)), Refusal::UnknownCall);
    assert_eq!(late.clone().refused(submit("c", "other", 2, 99)), fenced);
    assert_eq!(submitted.refused(submit("c", "other", 2, 99)), fenced);
    assert_eq!(submitted.refused(submit("c", "other", 1, 9)), fenced, "not even the same result");
    assert_eq!(expired.refused(submit("c", "other", 2, 99)), fenced);
    let resolved = |resolution| Refusal::CallResolved { resolution };
    assert_eq!(submitted.refused(submit("c", "r", 2, 99)), resolved(Resolution::Submitted));
    assert_eq!(expired.refused(submit("c", "r", 2, 99)), resolved(Resolution::Expired));
}

#[test]
fn invalid_input_comes_before_every_other_refusal() {
    let mut scene =
        Scene::after([append([message("m", 1)]), register("c", "r", 10), promote_staged("t", 1)]);
    let past_all_time = 1 << 53;
    for (operation, invalid_too) in [
        (create(), create_until(Some(past_all_time))),
        (stage("t", "c", 0, []), stage("t", "c", past_all_time, [])),
        (append([message("m", 2)]), append([message("m", 2), message("", 0)])),
        (set_status([Status::Failed], Status::Failed), set_status([], Status::Failed)),
        (register("c", "other", 0), register("c", "other", past_all_time)),
        (submit("unknown", "r", 0, 0), submit("unknown", "r", 0, past_all_time)),
    ] {
        assert_ne!(scene.refused(operation), invalid());
        assert_eq!(scene.refused(invalid_too), invalid());
    }
}

#[test]
fn invalid_input_comes_before_session_not_found() {
    for operation in one_of_each() {
        if operation.session().is_some() {
            assert_eq!(Scene::absent().refused(of("", operation)), invalid());
        }
    }
}

//! Status changes, the run list and the interrupt flag.

use super::Scene;
use crate::words::*;
use stagefault_models::{Refusal, Reply, Status};

#[test]
fn a_status_in_the_set_is_changed_and_the_version_moves() {
    let mut scene = Scene::after([]);
    assert_eq!(
        scene.done(set_status([Status::Failed, Status::Active], Status::Completed)),
        Reply::StatusSet { version: 2 }
    );
    assert_eq!(scene.session().status, Status::Completed);
}

#[test]
fn the_version_moves_also_when_the_status_stays() {
    let mut scene = Scene::after([]);
    assert_eq!(
        scene.done(set_status([Status::Active], Status::Active)),
        Reply::StatusSet { version: 2 }
    );
}

#[test]
fn a_status_outside_the_set_is_not_changed() {
    let mut scene = Scene::after([set_status([Status::Active], Status::Failed)]);
    assert_eq!(
        scene.refused(set_status([Status::Active, Status::Completed], Status::Failed)),
        Refusal::StatusMismatch { status: Status::Failed, version: 2 }
    );
}

#[test]
fn every_status_may_be_left_and_reached() {
    for from in Status::ALL {
        for to in Status::ALL {
            let mut scene = Scene::after([set_status([Status::Active], from)]);
            assert_eq!(scene.done(set_status([from], to)), Reply::StatusSet { version: 3 });
            assert_eq!(scene.session().status, to);
        }
    }
}

#[test]
fn the_status_gates_no_operation() {
    for status in Status::ALL {
        for operation in one_of_each() {
            let mut active = Scene::after([register("c", "r", 10)]);
            let mut other = active.clone();
            // Not by a status change, which would move the version too.
            other.state.session.as_mut().expect("created").status = status;
            match operation {
                // These two show or ask for the status itself.
                _ if operation == load() => {}
                _ if operation == set_status([Status::Active], Status::Completed) => {}
                _ if operation == create() => {}
                _ => assert_eq!(active.done(operation.clone()), other.done(operation)),
            }
        }
    }
}

#[test]
fn a_run_begins_once_and_keeps_its_turn() {
    let mut scene = Scene::after([]);
    assert_eq!(scene.done(begin_run("b")), Reply::RunBegun { turn: 1 });
    assert_eq!(scene.done(begin_run("a")), Reply::RunBegun { turn: 2 });
    assert_eq!(scene.unchanged(begin_run("b")), Reply::RunBegun { turn: 1 });
    assert_eq!(scene.session().runs, ["b".into(), "a".into()]);
    assert_eq!(scene.session().version, 1);
}

#[test]
fn of_any_consumers_after_one_request_exactly_one_takes_it() {
    let mut scene = Scene::after([]);
    assert_eq!(scene.unchanged(consume_interrupt()), Reply::Interrupt { taken: false });
    assert_eq!(scene.done(request_interrupt()), Reply::InterruptRequested);
    assert_eq!(scene.unchanged(request_interrupt()), Reply::InterruptRequested);
    assert_eq!(scene.done(consume_interrupt()), Reply::Interrupt { taken: true });
    assert_eq!(scene.unchanged(consume_interrupt()), Reply::Interrupt { taken: false });
    assert_eq!(scene.session().version, 1);
}

//! Sessions come, are read, expire and go.

use super::Scene;
use crate::words::*;
use stagefault_models::{Refusal, Reply, Session, Status};

#[test]
fn a_session_begins_at_version_1_active_and_empty() {
    let mut scene = Scene::absent();
    assert_eq!(scene.done(create()), Reply::Created { version: 1 });
    let session = scene.session();
    assert_eq!((session.version, session.status), (1, Status::Active));
    assert_eq!(*session, Session::created(None));
}

#[test]
fn a_session_is_created_with_its_expiry() {
    let mut scene = Scene::absent();
    scene.done(create_until(Some(7)));
    assert_eq!(scene.session().expires_at, Some(7));
}

#[test]
fn a_session_that_exists_is_not_created_again() {
    let mut scene = Scene::after([promote_staged("t", 1)]);
    assert_eq!(scene.refused(create_until(Some(7))), Refusal::SessionExists { version: 2 });
}

#[test]
fn a_session_created_again_has_nothing_of_its_former_life() {
    let mut scene = Scene::after([
        stage("t1", "c", 5, [set("k", 1)]),
        register("c", "r", 10),
        begin_run("r"),
        request_interrupt(),
        touch(Some(9)),
        promote_with("t2", 1, [set("k", 2)], [message("m", 1)]),
    ]);
    assert_eq!(scene.done(delete()), Reply::Deleted);
    assert_eq!(scene.done(create()), Reply::Created { version: 1 });
    assert_eq!(*scene.session(), Session::created(None));
}

#[test]
fn deletion_does_not_fence_a_promote_of_the_former_life() {
    let mut scene = Scene::after([delete(), create()]);
    assert_eq!(
        scene.done(promote_staged("t", 1)),
        Reply::Promoted { version: 2, applied: 0, appended: 0 }
    );
}

#[test]
fn all_but_creation_and_the_sweeps_need_a_session() {
    for operation in one_of_each() {
        let mut scene = Scene::absent();
        match operation.session() {
            Some(_) if operation != create() => {
                assert_eq!(scene.refused(operation), Refusal::SessionNotFound);
            }
            _ => {
                scene.done(operation);
            }
        }
    }
}

#[test]
fn load_shows_all_but_messages_and_staged_changes() {
    let mut scene = Scene::after([
        promote_with("t1", 1, [set("k", json("[]"))], [message("m", 1)]),
        stage("t2", "c", 5, [set("k", 1)]),
        register("done", "r", 10),
        submit("done", "r", "result", 9),
        register("waiting", "r", 10),
        begin_run("r"),
        request_interrupt(),
        touch(Some(9)),
    ]);
    let Reply::Snapshot(snapshot) = scene.unchanged(load()) else { panic!("not a snapshot") };
    assert!(scene.session().agrees_with(&snapshot));
    let text = serde_json::to_string_pretty(&snapshot).expect("a snapshot is JSON");
    insta::assert_snapshot!(text, @r#"
    {
      "version": 2,
      "status": "active",
      "state": {
        "k": []
      },
      "message_count": 1,
      "staged": [
        {
          "step": "t2",
          "call": "c",
          "at": 5
        }
      ],
      "calls": {
        "done": {
          "run": "r",
          "deadline": 10,
          "state": {
            "Submitted": "result"
          }
        },
        "waiting": {
          "run": "r",
          "deadline": 10,
          "state": "Pending"
        }
      },
      "runs": [
        "r"
      ],
      "interrupt": true,
      "expires_at": 9,
      "last_step": "t1"
    }
    "#);
}

#[test]
fn a_touch_sets_and_clears_the_expiry() {
    let mut scene = Scene::after([]);
    assert_eq!(scene.done(touch(Some(0))), Reply::Touched);
    assert_eq!(scene.session().expires_at, Some(0));
    assert_eq!(scene.done(touch(None)), Reply::Touched);
    assert_eq!(scene.session().expires_at, None);
}

#[test]
fn an_expired_session_lives_until_it_is_cleaned_up() {
    let mut scene = Scene::after([touch(Some(0)), cleanup(0, 0)]);
    assert_eq!(scene.refused(load()), Refusal::SessionNotFound);
    let mut scene = Scene::after([touch(Some(0))]);
    assert_eq!(scene.done(append([message("m", 1)])), Reply::Appended { appended: 1, total: 1 });
}

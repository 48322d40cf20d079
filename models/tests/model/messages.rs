//! Messages are appended once, in order, and read in pages.

use super::Scene;
use crate::words::*;
use stagefault_models::{Refusal, Reply};

#[test]
fn messages_are_appended_in_the_order_of_the_request() {
    let mut scene = Scene::after([append([message("b", 1)])]);
    assert_eq!(
        scene.done(append([message("z", 1), message("a", 1)])),
        Reply::Appended { appended: 2, total: 3 }
    );
    assert_eq!(scene.messages(), ["b", "z", "a"]);
}

#[test]
fn an_append_leaves_the_version() {
    assert_eq!(Scene::after([append([message("m", 1)])]).session().version, 1);
}

#[test]
fn a_message_that_is_there_with_an_equal_body_is_skipped() {
    let mut scene = Scene::after([append([message("m", json("1.0"))])]);
    assert_eq!(
        scene.unchanged(append([message("m", json("1"))])),
        Reply::Appended { appended: 0, total: 1 }
    );
    assert_eq!(
        scene.done(append([message("n", 2), message("m", 1)])),
        Reply::Appended { appended: 1, total: 2 }
    );
}

#[test]
fn a_message_given_twice_in_one_list_is_appended_once() {
    let mut scene = Scene::after([]);
    assert_eq!(
        scene.done(append([message("m", 1), message("n", 1), message("m", 1)])),
        Reply::Appended { appended: 2, total: 2 }
    );
    assert_eq!(scene.messages(), ["m", "n"]);
}

#[test]
fn a_known_id_with_another_body_conflicts_and_nothing_is_appended() {
    let mut scene = Scene::after([append([message("m", 1)])]);
    assert_eq!(
        scene.refused(append([message("new", 1), message("m", 2)])),
        Refusal::MessageConflict { id: "m".into() }
    );
}

#[test]
fn two_bodies_of_one_id_in_one_list_conflict() {
    assert_eq!(
        Scene::after([]).refused(append([message("m", 1), message("m", 2)])),
        Refusal::MessageConflict { id: "m".into() }
    );
}

#[test]
fn the_first_conflict_in_the_order_of_the_request_is_named() {
    let mut scene = Scene::after([append([message("a", 1), message("z", 1)])]);
    assert_eq!(
        scene.refused(append([message("z", 2), message("a", 2)])),
        Refusal::MessageConflict { id: "z".into() }
    );
}

#[test]
fn an_append_of_no_messages_counts_those_there() {
    let mut scene = Scene::after([append([message("m", 1)])]);
    assert_eq!(scene.unchanged(append([])), Reply::Appended { appended: 0, total: 1 });
}

#[test]
fn a_page_is_a_stretch_of_the_messages_with_their_total() {
    let all = [message("a", 1), message("b", 2), message("c", 3)];
    let mut scene = Scene::after([append(all.clone())]);
    let table = [
        ((0, 1000), &all[..]),
        ((0, 2), &all[..2]),
        ((1, 1), &all[1..2]),
        ((2, 5), &all[2..]),
        ((0, 0), &[]),
        ((3, 5), &[]),
        ((u64::MAX, 1000), &[]),
    ];
    for ((offset, limit), messages) in table {
        assert_eq!(
            scene.unchanged(read(offset, limit)),
            Reply::Page { messages: messages.to_vec(), total: 3 },
            "offset {offset}, limit {limit}"
        );
    }
}

#[test]
fn a_page_of_more_than_1000_is_invalid() {
    assert!(matches!(Scene::after([]).refused(read(0, 1001)), Refusal::InvalidInput(_)));
}

//! Breaches that are called append idempotency.

use super::Scene;
use crate::words::*;
use stagefault_models::{Invariant, Reply};

#[track_caller]
fn breaks(scene: Scene, because: &str) {
    scene.breaks(Invariant::AppendIdempotency, because);
}

#[test]
fn a_message_sent_again_is_appended_again() {
    let scene = Scene::after([append([message("m", 1)])], append([message("m", 1)])).holds();
    breaks(
        scene.messages(|messages| messages.push(message("m", 1))),
        "message \"m\" is there twice",
    );
}

#[test]
fn a_message_given_twice_in_one_list_is_appended_twice() {
    let twice = append([message("m", 1), message("m", 1)]);
    breaks(
        Scene::after([], twice).holds().messages(|messages| messages.push(message("m", 1))),
        "message \"m\" is there twice",
    );
}

#[test]
fn a_message_is_lost() {
    let scene = Scene::after([append([message("m", 1)])], load()).holds();
    breaks(scene.messages(Vec::clear), "message \"m\" is lost");
}

#[test]
fn a_message_is_overwritten_by_one_sent_later_at_the_same_position() {
    let scene = Scene::after([append([message("m", 1)])], append([message("n", 1)])).holds();
    breaks(
        scene.messages(|messages| drop(messages.remove(0))),
        "message \"n\" stands in the place of message \"m\"",
    );
}

#[test]
fn a_message_is_altered_by_one_of_the_same_id() {
    let scene = Scene::after([append([message("m", 1)])], append([message("m", 2)])).holds();
    breaks(
        scene.messages(|messages| messages[0] = message("m", 2)),
        "message \"m\" came back with another body",
    );
}

#[test]
fn a_message_of_a_known_id_and_another_body_is_accepted() {
    let scene = Scene::after([append([message("m", 1)])], append([message("m", 2)])).holds();
    breaks(
        scene.answered(Reply::Appended { appended: 0, total: 1 }),
        "message \"m\" was accepted again with another body",
    );
}

#[test]
fn messages_are_appended_in_another_order() {
    let scene = Scene::after([], append([message("b", 1), message("a", 1)])).holds();
    breaks(
        scene.messages(|messages| messages.reverse()),
        "[\"b\", \"a\"] were new of the messages asked for, [\"a\", \"b\"] were added",
    );
}

#[test]
fn a_new_message_of_a_promote_is_skipped() {
    let scene = Scene::after([], promote_with("t", 1, [], [message("m", 1)])).holds();
    breaks(scene.messages(Vec::clear), "[\"m\"] were new of the messages asked for, [] were added");
}

#[test]
fn a_touch_appends_a_message() {
    let scene = Scene::after([], touch(None)).holds();
    breaks(
        scene.messages(|messages| messages.push(message("m", 1))),
        "[] were new of the messages asked for, [\"m\"] were added",
    );
}

#[test]
fn messages_outlive_their_session() {
    let scene = Scene::after([append([message("m", 1)]), delete()], create()).holds();
    breaks(
        scene.messages(|messages| messages.push(message("m", 1))),
        "[] were new of the messages asked for, [\"m\"] were added",
    );
}

#[test]
fn the_counts_replied_or_shown_are_not_true() {
    let scene = Scene::after([append([message("m", 1)])], append([message("m", 1)])).holds();
    breaks(
        scene.clone().answered(Reply::Appended { appended: 1, total: 1 }),
        "the reply counts 1 new messages and 1 in all, there are 0 and 1",
    );
    breaks(
        scene.seen(|snapshot| snapshot.message_count = 2),
        "the session counts 2 messages and 1 can be read",
    );
    let scene = Scene::after([], promote_with("t", 1, [], [message("m", 1)])).holds();
    breaks(
        scene.answered(Reply::Promoted { version: 2, applied: 0, appended: 0 }),
        "the reply counts 0 new messages, there are 1",
    );
}

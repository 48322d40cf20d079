//! Shrinking a schedule by hand.

use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;

use stagefault_models::Schedule;

use crate::replaying::{APPENDS_TWICE, CREATES};
use crate::support::Place;

/// The schedule with operations that the failure does not need.
fn padded() -> String {
    let padding = r#"{"writer":0,"operation":{"RequestInterrupt":{"session":"s"}}},
        {"writer":3,"operation":{"Load":{"session":"other"}}},
        {"writer":1,"operation":{"AppendMessages""#;
    APPENDS_TWICE.replacen(r#"{"writer":1,"operation":{"AppendMessages""#, padding, 1)
}

const FLAW: &str = "--store memory --flaw append-not-idempotent";

#[test]
fn a_failing_schedule_is_shrunk_beside_itself_and_exits_1() {
    let place = Place::new();
    place.write("some/long.json", padded());
    let ended = place.stagefault(&format!("shrink some/long.json {FLAW}")).expect_status(1);
    assert_eq!(place.files(), ["some/long.json", "some/long.shrunk.json"]);
    assert_eq!(place.read("some/long.json"), padded(), "it stays as it is");
    let shrunk = Schedule::from_json(&place.read("some/long.shrunk.json")).expect("a schedule");
    assert_eq!(shrunk.operations.len(), 2);
    assert!(ended.stdout.starts_with("shrunk in "), "{ended:#?}");
    assert!(ended.stdout.contains(": 5 operations, "), "{ended:#?}");
    assert!(ended.stdout.contains(" → 2 operations, "), "{ended:#?}");
    let again = place.shell(ended.line("replay it")).expect_status(1);
    assert!(again.stdout.contains("append_idempotency broken by AppendMessages"), "{again:#?}");
}

#[test]
fn the_result_goes_where_it_is_wanted() {
    let place = Place::new();
    place.write("long.json", padded());
    place.stagefault(&format!("shrink long.json --out short.json {FLAW}")).expect_status(1);
    assert_eq!(place.files(), ["long.json", "short.json"]);
}

#[test]
fn a_schedule_that_holds_leaves_nothing_to_shrink_and_exits_0() {
    for store in ["memory", "sqlite"] {
        let place = Place::new();
        place.write("fine.json", CREATES);
        let ended = place.stagefault(&format!("shrink fine.json --store {store}"));
        let expected = format!("held: fine.json on {store}; there is nothing to shrink\n");
        assert_eq!(ended.expect_status(0).stdout, expected);
        assert_eq!(place.files(), ["fine.json"]);
    }
}

#[test]
fn a_limit_of_attempts_is_kept_and_said() {
    let place = Place::new();
    place.write("long.json", padded());
    let ended = place.stagefault(&format!("shrink long.json --attempts 1 {FLAW}")).expect_status(1);
    assert!(ended.stdout.starts_with("shrunk in 1 attempt, which is the limit"), "{ended:#?}");
    let shrunk = place.stagefault(&format!("replay long.shrunk.json {FLAW}"));
    shrunk.expect_status(1);
}

#[test]
fn what_is_no_plain_file_is_never_replaced() {
    let place = Place::new();
    place.write("long.json", padded());
    place.write("folder/in/it", "");
    let socket = place.path("socket");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    for there in ["socket", "folder"] {
        let ended = place.stagefault(&format!("shrink long.json --out {there} {FLAW}"));
        ended.expect_error(2, &[there, "is not a file", "--out"]);
    }
    assert!(socket.metadata().expect("it is there").file_type().is_socket());
    assert_eq!(place.files(), ["folder/in/it", "long.json", "socket"]);
}

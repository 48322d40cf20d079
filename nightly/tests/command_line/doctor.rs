//! Which stores can run here.

use serde_json::Value;

use crate::support::{Ended, Place};

/// What is said of a store in JSON.
fn finding(ended: &Ended, store: &str) -> Value {
    let findings: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(findings["format"], "stagefault.doctor/1");
    let stores = findings["stores"].as_array().expect("a list");
    stores.iter().find(|finding| finding["store"] == store).expect("the store").clone()
}

#[test]
fn where_all_stores_run_it_says_so_and_leaves_nothing() {
    let place = Place::new();
    let ended = place.stagefault("doctor").expect_status(0);
    for store in ["memory", "sqlite", "postgres"] {
        let line = ended.stdout.lines().find(|line| line.starts_with(store)).expect("a line");
        assert!(line.contains(" runs: an operation was executed after "), "{line}");
    }
    assert!(ended.stdout.contains("found: version 3."), "the SQLite that is built in: {ended:#?}");
    assert!(ended.stdout.contains("sudo apt-get install postgresql"), "{ended:#?}");
    assert!(place.files().is_empty());
}

#[test]
fn as_json_it_says_what_was_found() {
    let place = Place::new();
    let ended = place.stagefault("doctor --json").expect_status(0);
    let postgres = finding(&ended, "postgres");
    assert_eq!(postgres["runs"], true);
    let folder = std::path::Path::new(postgres["folder"].as_str().expect("a path"));
    assert!(folder.join("postgres").exists(), "{postgres}");
    let version = postgres["version"].as_str().expect("a version");
    assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{version}");
    let runs_as = rustix::process::geteuid().is_root().then_some("postgres");
    assert_eq!(postgres["runs_as"].as_str(), runs_as);
    assert_eq!(finding(&ended, "memory")["needs"], "nothing");
}

#[test]
fn a_store_that_cannot_run_is_said_with_the_reason_and_exits_3() {
    let place = Place::new();
    let ended = place.shell("TMPDIR=/proc exec stagefault doctor --json").expect_status(3);
    for (store, reason) in [("sqlite", "TMPDIR"), ("postgres", "--url")] {
        let finding = finding(&ended, store);
        assert_eq!(finding["runs"], false);
        assert!(finding["problem"].as_str().expect("a problem").contains(reason), "{finding}");
    }
    assert_eq!(finding(&ended, "memory")["runs"], true);
    let ended = place.shell("TMPDIR=/proc exec stagefault doctor").expect_status(3);
    assert!(ended.stdout.contains("postgres  CANNOT RUN: cannot make the server"), "{ended:#?}");
}

#[test]
fn a_running_server_is_tried_as_a_run_would_use_it() {
    let place = Place::new();
    let url = "postgres://somebody@127.0.0.1:1";
    let ended = place.stagefault(&format!("doctor --json --url {url}")).expect_status(3);
    let problem = finding(&ended, "postgres")["problem"].to_string();
    assert!(problem.contains("no server answers there"), "{problem}");
}

//! Where artifacts go: never over what is there, never half, and nothing is left of a run
//! that could not begin.

use crate::replaying::{APPENDS_TWICE, CREATES};
use crate::support::{Ended, Place};

/// Runs the command where a file can have so many blocks of 512 bytes at most: what a
/// full disk is like, for anybody.
fn with_little_room(place: &Place, blocks: u32, arguments: &str) -> Ended {
    place.shell(&format!("ulimit -f {blocks} && exec stagefault {arguments}"))
}

#[test]
fn a_folder_that_holds_a_run_is_refused_and_stays_as_it_is() {
    let place = Place::new();
    place.stagefault("run --store memory --ops 200 --out here").expect_status(0);
    let before = (place.files(), place.read("here/run.json"), place.read("here/summary.json"));
    let ended = place.stagefault("run --store memory --ops 200 --out here");
    ended.expect_error(2, &["here", "not empty", "--out"]);
    let after = (place.files(), place.read("here/run.json"), place.read("here/summary.json"));
    assert_eq!(before, after);
}

#[test]
fn a_folder_with_anything_in_it_is_refused_and_an_empty_one_is_taken() {
    let place = Place::new();
    place.write("used/notes.txt", "mine");
    std::fs::create_dir(place.path("empty")).expect("it can be made");
    let ended = place.stagefault("run --store memory --ops 200 --out used");
    ended.expect_error(2, &["used", "not empty"]);
    place.stagefault("run --store memory --ops 200 --out empty").expect_status(0);
    assert_eq!(place.files(), ["empty/run.json", "empty/summary.json", "used/notes.txt"]);
}

#[test]
fn a_file_is_no_folder_for_a_run() {
    let place = Place::new();
    place.write("file", "mine");
    let ended = place.stagefault("run --store memory --ops 200 --out file");
    ended.expect_error(2, &["file", "is not a folder", "--out"]);
    assert_eq!(place.read("file"), "mine");
}

#[test]
fn where_nothing_can_be_written_a_run_says_so_and_exits_3() {
    let place = Place::new();
    place.write("file", "mine");
    for (folder, store) in [("/proc/stagefault/run", "memory"), ("file/run", "sqlite")] {
        let ended = place.stagefault(&format!("run --store {store} --ops 200 --out {folder}"));
        ended.expect_error(3, &["cannot write", folder, "--out"]);
    }
    assert_eq!(place.files(), ["file"]);
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    for store in ["memory", "sqlite"] {
        for out in ["", "--out a/new/folder"] {
            let place = Place::new();
            let arguments = format!("run --store {store} --ops 200 {out}");
            with_little_room(&place, 0, &arguments).expect_error(3, &[]);
            assert!(place.files().is_empty(), "{store} {out}: {:?}", place.files());
        }
    }
}

#[test]
fn a_run_whose_store_finds_no_more_room_says_so_and_leaves_whole_documents_and_no_store() {
    let place = Place::new();
    let arguments = "run --store sqlite --ops 1000000 --seed 7 --profile large --out here";
    let ended = with_little_room(&place, 400, arguments).expect_status(3);
    let errors: Vec<&str> =
        ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{ended:#?}");
    assert!(errors[0].contains("of seed 7: the store could not execute "), "{ended:#?}");
    assert!(ended.stdout.starts_with("could not go on: "), "{ended:#?}");
    assert_eq!(place.files(), ["here/run.json", "here/summary.json"]);
    let summary = place.json("here/summary.json");
    assert_eq!(summary["outcome"], "could_not_go_on");
    assert!(errors[0].ends_with(summary["error"].as_str().expect("a text")), "{summary}");
}

#[test]
fn a_violation_is_not_hidden_by_artifacts_that_cannot_be_written() {
    let place = Place::new();
    let flaw = "--store memory --flaw append-not-idempotent --ops 1000000 --seed 7";
    // Enough for run.json, and not for a recorded schedule.
    let ended = with_little_room(&place, 2, &format!("run {flaw} --out here")).expect_status(1);
    assert!(ended.stdout.contains("append_idempotency broken by "), "{ended:#?}");
    assert!(
        ended.stderr.contains("error: cannot write here/failures/1/schedule.json"),
        "{ended:#?}"
    );
    let files = place.files();
    assert!(files.iter().all(|file| !file.contains("tmp")), "{files:?}");
    assert!(!files.contains(&"here/failures/1/schedule.json".to_owned()), "{files:?}");
}

#[test]
fn a_shrunk_schedule_that_cannot_be_written_is_printed_all_the_same() {
    let place = Place::new();
    place.write("twice.json", APPENDS_TWICE);
    let flaw = "--store memory --flaw append-not-idempotent";
    let ended = place.stagefault(&format!("shrink twice.json --out /proc/short.json {flaw}"));
    let ended = ended.expect_status(3);
    assert!(ended.stderr.contains("error: cannot write /proc/short.json"), "{ended:#?}");
    assert!(ended.stdout.contains("append_idempotency broken by "), "{ended:#?}");
    place.shell(ended.line("replay it")).expect_status(1);
    assert_eq!(place.files(), ["twice.json"]);
}

#[test]
fn without_room_for_temporary_files_a_replay_says_so_and_exits_3() {
    let place = Place::new();
    place.write("fine.json", CREATES);
    let ended = place.shell("TMPDIR=/proc exec stagefault replay fine.json --store sqlite");
    ended.expect_error(3, &["/proc", "TMPDIR"]);
    with_little_room(&place, 0, "replay fine.json --store sqlite").expect_error(3, &["fine.json"]);
    assert_eq!(place.files(), ["fine.json"]);
}

//! `stagefault report`: made again from a folder, and joined from several.

use crate::support::Place;

const RUN: &str = "run --writers 4 --store memory --seed 9 --ops 500";

/// The same with a race that is found at once.
const FAILING: &str =
    "run --writers 8 --store memory --seed 7 --ops 90000 --flaw promote-checks-first";

#[test]
fn a_report_is_made_again_as_it_was() {
    let place = Place::new();
    place.stagefault(&format!("{FAILING} --out here")).expect_status(1);
    let files = ["summary.json", "report.html", "junit.xml", "issue.md"];
    let before = files.map(|name| place.read(&format!("here/{name}")));
    for name in ["report.html", "junit.xml", "issue.md"] {
        std::fs::remove_file(place.path(&format!("here/{name}"))).expect("it is there");
    }
    let ended = place.stagefault("report here").expect_status(1);
    assert!(ended.stdout.starts_with("violation: "), "{ended:#?}");
    assert_eq!(files.map(|name| place.read(&format!("here/{name}"))), before);
}

#[test]
fn a_long_run_that_never_saw_something_fails_and_says_what() {
    let place = Place::new();
    place.stagefault(&format!("{RUN} --out here")).expect_status(0);
    let journal = place.read("here/journal.jsonl").replacen("\"Done\":", "\"Done\":200000", 1);
    // Nothing is expired any more, however often it was tried.
    let journal = journal.replace("CallExpired", "CallResolved");
    place.write("here/journal.jsonl", journal);
    let ended = place.stagefault("report here").expect_status(4);
    assert!(ended.stdout.starts_with("below its coverage floor: "), "{ended:#?}");
    assert!(ended.line("never seen").contains("SubmitResult CallExpired"), "{ended:#?}");
    assert!(place.read("here/junit.xml").contains("SubmitResult CallExpired"));
}

#[test]
fn a_shard_that_is_missing_or_did_not_end_or_did_nothing_fails_the_whole() {
    let place = Place::new();
    for index in 0..2 {
        place.stagefault(&format!("{RUN} --shard {index}/2 --out {index}")).expect_status(0);
    }
    let merge = |folders: &str, into: &str, words: &str| {
        let ended = place.stagefault(&format!("report {folders} --merge {into}")).expect_status(3);
        assert!(ended.stdout.starts_with(&format!("could not go on ({words})")), "{ended:#?}");
        assert!(place.read(&format!("{into}/junit.xml")).contains(words));
    };
    merge("0", "missing", "not there: shard 1/2");
    std::fs::remove_file(place.path("1/summary.json")).expect("it is there");
    merge("0 1", "killed", "shard 1/2 did not end");
    place.write("1/summary.json", place.read("0/summary.json"));
    place.write("1/journal.jsonl", "{\"format\":\"stagefault.journal/1\"}\n");
    merge("0 1", "idle", "shard 1/2 did nothing");
    assert_eq!(place.stagefault("report 1").status, Some(3));
}

#[test]
fn shards_with_failures_are_joined_with_all_of_them() {
    let place = Place::new();
    for index in 0..2 {
        let shard = format!("--shard {index}/2 --out {index}");
        place.stagefault(&format!("{FAILING} {shard}")).expect_status(1);
    }
    let ended = place.stagefault("report 0 1 --merge night").expect_status(1);
    assert!(ended.stdout.starts_with("violation: "), "{ended:#?}");
    for number in [1, 2] {
        let violation = place.json(&format!("night/failures/{number}/violation.json"));
        assert_eq!(violation["number"], number);
        let again = place.shell(violation["replay"].as_str().expect("a command"));
        again.expect_status(1);
    }
}

#[test]
fn folders_that_are_no_shards_of_one_run_are_refused() {
    let place = Place::new();
    place.stagefault(&format!("{RUN} --shard 0/2 --out 0")).expect_status(0);
    let other = RUN.replace("--seed 9", "--seed 8");
    place.stagefault(&format!("{other} --shard 1/2 --out other")).expect_status(0);
    place.stagefault("run --store memory --ops 200 --out sequential").expect_status(0);
    let cases: &[(&str, &[&str])] = &[
        ("report 0 other --merge night", &["other/run.json", "not of the same run as 0"]),
        ("report 0 0 --merge night", &["shard 0/2 is there twice"]),
        ("report sequential", &["sequential/run.json", "sequential lane"]),
        ("report 0 --merge other", &["other", "not empty"]),
    ];
    for (command, words) in cases {
        place.stagefault(command).expect_error(2, words);
    }
    assert!(!place.path("night").exists());
}

#[test]
fn a_folder_of_another_version_or_a_damaged_one_is_refused() {
    let place = Place::new();
    place.stagefault(&format!("{RUN} --out here")).expect_status(0);
    let run = place.read("here/run.json");
    let cases = [
        (run.replace("stagefault.run/1", "stagefault.run/2"), "stagefault.run/2"),
        (run.replace("\"writers\"", "\"writer\""), "is damaged"),
        (run.replace("\"index\": 0", "\"index\": 5"), "there is no shard 5/1"),
        (run[..run.len() / 2].to_owned(), "is damaged"),
        ("{}".to_owned(), "not a run"),
    ];
    for (run, words) in cases {
        place.write("here/run.json", run);
        for command in ["report here", "run --resume here"] {
            place.stagefault(command).expect_error(2, &["here/run.json", words]);
        }
    }
}

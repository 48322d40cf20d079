//! Runs of several writers: what they leave, how they end, and how they are split.

use std::collections::BTreeSet;

use rustix::process::Signal;
use serde_json::Value;
use stagefault_models::{History, Schedule};
use stagefault_stores::flaws::Flaw;

use crate::support::{Ended, Place};

/// What every run of several writers leaves.
const ARTIFACTS: [&str; 6] =
    ["issue.md", "journal.jsonl", "junit.xml", "report.html", "run.json", "summary.json"];

/// A run in memory with a race that is found at once.
fn failing_run(place: &Place, options: &str) -> Ended {
    let flaw = Flaw::PromoteChecksFirst;
    let run = format!("run --writers 8 --store memory --seed 7 --flaw {flaw} --out here");
    place.stagefault(&format!("{run} {options}"))
}

#[test]
fn a_run_that_holds_leaves_its_reports_and_no_store() {
    for store in ["memory", "sqlite"] {
        let place = Place::new();
        let run = format!("run --writers 3 --store {store} --ops 700 --seed 7 --out here");
        let ended = place.stagefault(&run).expect_status(0);
        assert!(ended.stdout.starts_with("held: "), "{ended:#?}");
        assert!(ended.stdout.contains("profile contended, 3 writers, seed 7\n"), "{ended:#?}");
        assert_eq!(place.files(), ARTIFACTS.map(|name| format!("here/{name}")));
        let (run, summary) = (place.json("here/run.json"), place.json("here/summary.json"));
        assert_eq!((&run["lane"], &run["writers"]), (&"concurrent".into(), &3.into()));
        assert_eq!(summary["outcome"], "held");
        assert!(summary["operations"].as_u64() >= Some(700), "{summary}");
        let page = place.read("here/report.html");
        assert!(!page.contains("http://") && !page.contains("https://"), "it needs no network");
    }
}

#[test]
fn a_throw_away_postgres_server_has_a_connection_for_each_writer() {
    let place = Place::new();
    let ended = place.stagefault("run --writers 8 --store postgres --ops 500 --out here");
    assert!(ended.expect_status(0).stdout.starts_with("held: "));
    assert_eq!(place.files(), ARTIFACTS.map(|name| format!("here/{name}")));
}

#[test]
fn a_failure_is_kept_shrunk_and_replays_with_the_printed_command() {
    let place = Place::new();
    let ended = failing_run(&place, "--ops 1000000").expect_status(1);
    assert!(ended.stdout.starts_with("violation: "), "{ended:#?}");
    let failure = "here/failures/1";
    let files =
        ["explanation.txt", "history.jsonl", "schedule.json", "shrunk.json", "violation.json"];
    let kept: Vec<String> =
        place.files().into_iter().filter(|it| it.starts_with(failure)).collect();
    assert_eq!(kept, files.map(|name| format!("{failure}/{name}")));

    let schedule = |name: &str| Schedule::from_json(&place.read(&format!("{failure}/{name}")));
    let (recorded, shrunk) = (schedule("schedule.json"), schedule("shrunk.json"));
    let (recorded, shrunk) = (recorded.expect("a schedule"), shrunk.expect("a schedule"));
    assert!(shrunk.operations.len() < recorded.operations.len());
    let history = History::from_json_lines(&place.read(&format!("{failure}/history.jsonl")));
    assert!(history.expect("a history").operations.len() >= recorded.operations.len());
    let origin = recorded.origin.expect("an origin");
    let violation = place.json(&format!("{failure}/violation.json"));
    assert_eq!((origin.lane.as_str(), origin.seed), ("concurrent", 7));
    assert_eq!(
        (&violation["episode"], &violation["kind"]),
        (&origin.episode.into(), &"order".into())
    );

    let again = place.shell(ended.line("replay it")).expect_status(1);
    assert!(again.stdout.contains("1 schedule: 0 held, 1 failed"), "{again:#?}");
    let page = place.read("here/report.html");
    assert!(page.contains("class=\"stuck\"") && page.contains("has no place"), "no timeline");
    let junit = place.read("here/junit.xml");
    assert!(junit.contains("<testsuites tests=\"12\" failures=\"1\""), "{junit}");
}

#[test]
fn a_run_ends_after_so_many_failures_as_it_is_told() {
    let place = Place::new();
    failing_run(&place, "--ops 1000000 --max-failures 2").expect_status(1);
    let summary = place.json("here/summary.json");
    let failures = summary["failures"].as_array().expect("a list");
    assert_eq!(failures.len(), 2, "{summary}");
    assert_ne!(failures[0]["episode"], failures[1]["episode"]);
}

#[test]
fn known_failures_are_counted_and_fail_nothing() {
    let place = Place::new();
    // Whatever a race shows as: every signature that an operation can have.
    let invariants = [
        "atomicity",
        "version_monotonicity",
        "append_idempotency",
        "staging_cleanup",
        "call_lifecycle",
        "coordination",
        "truth",
    ];
    let operations = stagefault_models::OperationKind::ALL.map(|kind| format!("{kind:?}"));
    let of = |invariant: &'static str| {
        let known = operations.iter().map(move |operation| {
            format!(r#"{{"kind":"order","invariant":"{invariant}","operation":"{operation}","note":"seen"}}"#)
        });
        known.collect::<Vec<_>>()
    };
    let all: Vec<String> = invariants.into_iter().flat_map(of).collect();
    let known = format!(r#"{{"format":"stagefault.known/1","failures":[{}]}}"#, all.join(","));
    place.write("known.json", known);
    let ended = failing_run(&place, "--ops 6000 --known known.json").expect_status(0);
    assert!(ended.stdout.starts_with("held: ") && ended.stdout.contains("known, "), "{ended:#?}");
    let summary = place.json("here/summary.json");
    assert!(summary["known"][0]["times"].as_u64() > Some(0), "{summary}");
    assert!(!place.path("here/failures").exists());
}

#[test]
fn the_shards_of_a_run_together_run_what_one_process_would() {
    let place = Place::new();
    let run = "run --writers 4 --store memory --seed 9";
    // So many operations that each shard has five episodes.
    place.stagefault(&format!("{run} --ops 1 --out one")).expect_status(0);
    let (mut numbers, mut episodes) = (BTreeSet::new(), 0);
    for index in 0..3 {
        let shard = format!("{run} --ops 600 --shard {index}/3 -vv --out shard-{index}");
        let ended = place.stagefault(&shard).expect_status(0);
        let begun =
            ended.stderr.lines().filter_map(|line| line.split_once("number=")?.1.split(' ').next());
        numbers.extend(begun.map(|number| number.parse::<u64>().expect("a number")));
        episodes += place.json(&format!("shard-{index}/summary.json"))["episodes"]
            .as_u64()
            .expect("a count");
    }
    assert_eq!(numbers.len() as u64, episodes, "no episode is run twice");
    assert!((0..12).all(|number| numbers.contains(&number)), "none is skipped: {numbers:?}");

    let ended = place.stagefault("report shard-0 shard-1 shard-2 --merge night").expect_status(0);
    assert!(ended.stdout.contains("\nshard 0/3, 1/3, 2/3\n"), "{ended:#?}");
    let merged = place.json("night/summary.json");
    assert_eq!(merged["episodes"], episodes);
    let sum: u64 =
        (0..3).map(|it| operations(&place.json(&format!("shard-{it}/summary.json")))).sum();
    assert_eq!(operations(&merged), sum);
}

fn operations(summary: &Value) -> u64 {
    summary["operations"].as_u64().expect("a count")
}

#[test]
fn what_the_concurrent_lane_cannot_use_is_refused_before_anything_is_made() {
    let cases: &[(&str, &[&str])] = &[
        ("run --writers 8 --shard 4/4", &["--shard", "from 0/4 to 3/4"]),
        ("run --writers 8 --shard 0/0", &["--shard", "at least one"]),
        ("run --writers 8 --shard first", &["--shard", "0/4"]),
        ("run --writers 0", &["--writers"]),
        ("run --writers 65", &["--writers", "64"]),
        ("run --shard 0/4", &["--shard", "--writers 2"]),
        ("run --max-failures 3", &["--max-failures", "--writers 2"]),
        ("run --writers 2 --known absent.json", &["absent.json", "cannot be read"]),
        ("run --writers 2 --resume here", &["--resume", "--writers"]),
        ("run --resume absent", &["absent/run.json", "cannot be read"]),
        ("report absent", &["absent/run.json", "cannot be read"]),
    ];
    let place = Place::new();
    for (command, words) in cases {
        let ended = place.stagefault(command).expect_status(2);
        for word in *words {
            assert!(ended.stderr.contains(word), "{command}: no {word:?} in {ended:#?}");
        }
    }
    assert!(place.files().is_empty());
    let wrong = [
        ("{}", "missing field"),
        (r#"{"format":"stagefault.known/2","failures":[]}"#, "stagefault.known/2"),
        (r#"{"format":"stagefault.known/1","failures":[{"kind":"odd"}]}"#, "odd"),
        (r#"{"format":"stagefault.known/1","failures":[{"kind":"rows","op":"Load"}]}"#, "op"),
    ];
    for (known, word) in wrong {
        place.write("known.json", known);
        let ended = place.stagefault("run --writers 2 --store memory --known known.json");
        ended.expect_error(2, &["known.json", "not a list of known failures", word]);
    }
}

#[test]
fn a_signal_ends_a_concurrent_run_in_order() {
    for (signal, status, name) in [(Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM")] {
        let place = Place::new();
        let mut running = place.start("run --writers 8 --store sqlite --for 8h --out here");
        running.wait_for("running");
        running.signal(signal);
        let ended = running.end().expect_status(status);
        let beginning = format!("interrupted by {name}, held until then: ");
        assert!(ended.stdout.starts_with(&beginning), "{ended:#?}");
        assert_eq!(place.files(), ARTIFACTS.map(|name| format!("here/{name}")));
        assert_eq!(place.json("here/summary.json")["signal"], name);
    }
}

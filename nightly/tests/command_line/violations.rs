//! Runs that fail, as they must when a flaw is planted.

use serde_json::Value;
use stagefault_models::Schedule;
use stagefault_properties::catalogue::{self, Lane};
use stagefault_properties::violation::Violation;
use stagefault_stores::flaws::Flaw;

use crate::support::{Ended, Place, ended};

/// A run that finds this flaw within a moment.
fn failing_run(place: &Place, store: &str, flaw: Flaw, out: &str) -> Ended {
    let mut command = place.command("run --ops 1000000 --seed 7".split(' '));
    command.args(["--store", store, "--flaw", flaw.name(), "--out", out]);
    ended(&mut command).expect_status(1)
}

/// The failure's name in a line of results, such as `atomicity broken by Promote`.
fn signature(violation: Value) -> String {
    let violation: Violation = serde_json::from_value(violation).expect("a violation");
    violation.signature().to_string()
}

#[test]
fn every_flaw_is_caught_and_the_printed_command_fails_again_in_the_same_way() {
    let sequential = catalogue::all().filter(|entry| entry.lane == Lane::Sequential);
    let all_in_memory = sequential.map(|entry| ("memory", entry.flaw));
    let others = ["sqlite", "postgres"].map(|store| (store, Flaw::VersionNotChecked));
    for (store, flaw) in all_in_memory.chain(others) {
        let place = Place::new();
        let ended = failing_run(&place, store, flaw, "here");
        let signature = signature(place.json("here/failures/1/violation.json"));
        assert!(ended.stdout.contains(&signature), "{ended:#?}");

        let command = ended.line("replay it");
        let again = place.shell(command).expect_status(1);
        assert!(again.stdout.contains(&signature), "{signature}: {again:#?}");

        let without = format!(" --flaw {flaw}");
        assert!(command.contains(&without), "{command}");
        let held = place.shell(&command.replace(&without, "")).expect_status(0);
        assert!(held.stdout.ends_with("1 schedule: 1 held, 0 failed\n"), "{held:#?}");
    }
}

#[test]
fn a_failing_run_leaves_the_failure_and_no_store() {
    let place = Place::new();
    failing_run(&place, "memory", Flaw::StagingNotCleared, "here");
    let expected = [
        "here/failures/1/explanation.txt",
        "here/failures/1/schedule.json",
        "here/failures/1/shrunk.json",
        "here/failures/1/violation.json",
        "here/run.json",
        "here/summary.json",
    ];
    assert_eq!(place.files(), expected);
}

#[test]
fn the_recorded_schedule_says_where_it_came_from_and_the_shrunk_one_is_shorter() {
    let place = Place::new();
    failing_run(&place, "memory", Flaw::VersionNotChecked, "here");
    let read = |name: &str| {
        let text = place.read(&format!("here/failures/1/{name}"));
        Schedule::from_json(&text).expect("a schedule")
    };
    let (recorded, shrunk) = (read("schedule.json"), read("shrunk.json"));
    let summary = place.json("here/summary.json");
    let failure = &summary["failure"];
    let origin = recorded.origin.as_ref().expect("an origin");
    assert_eq!((origin.store.as_str(), origin.profile.as_str()), ("memory", "balanced"));
    assert_eq!(origin.seed, 7);
    assert_eq!(failure["episode"], origin.episode);
    assert_eq!(shrunk.origin, recorded.origin);
    assert!(shrunk.operations.len() < recorded.operations.len());
    assert_eq!(failure["recorded_operations"], recorded.operations.len());
    assert_eq!(failure["shrunk_operations"], shrunk.operations.len());
}

#[test]
fn a_failing_run_prints_the_violation_the_figures_and_the_shrunk_operations() {
    let place = Place::new();
    let ended = failing_run(&place, "memory", Flaw::AppendNotIdempotent, "here");
    let parts = [
        "violation in episode ",
        "append_idempotency broken by ",
        "violation: ",
        "store memory, flaw append-not-idempotent, profile balanced, seed 7\n",
        "artifacts in here\n",
        "shrunk in ",
        "\n    0  writer 0  {\"CreateSession\":{\"session\":\"s0\"}}\n",
        "replay it: ",
        "stagefault replay here/failures/1/shrunk.json --store memory --flaw ",
    ];
    let mut rest = ended.stdout.as_str();
    for part in parts {
        let place =
            rest.find(part).unwrap_or_else(|| panic!("no {part:?} in its place: {ended:#?}"));
        rest = &rest[place..];
    }
    let explanation = place.read("here/failures/1/explanation.txt");
    assert!(explanation.contains(ended.line("replay it")), "{explanation}");
}

#[test]
fn the_json_summary_of_a_failing_run_holds_the_failure() {
    let place = Place::new();
    let command = "run --store memory --ops 1000000 --seed 7 --flaw deadline-ignored --json";
    let ended = place.stagefault(&format!("{command} --out here")).expect_status(1);
    let summary: Value = serde_json::from_str(&ended.stdout).expect("JSON and nothing else");
    assert_eq!(summary, place.json("here/summary.json"));
    assert_eq!(summary["outcome"], "violation");
    let violation = &summary["failure"]["violation"];
    assert_eq!(violation["invariant"], "call_lifecycle");
    let again = place.shell(summary["failure"]["replay"].as_str().expect("a command"));
    assert!(again.expect_status(1).stdout.contains(&signature(violation.clone())));
}

#[test]
fn the_printed_command_works_with_any_folder_name() {
    let place = Place::new();
    let ended =
        failing_run(&place, "memory", Flaw::InterruptNotCleared, "it's a \"run\" & more/$HOME");
    place.shell(ended.line("replay it")).expect_status(1);
}

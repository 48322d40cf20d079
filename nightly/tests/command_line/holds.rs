//! Runs that hold.

use serde_json::Value;

use crate::support::Place;
use rustix::process::Signal;

/// The counts of a summary, added up.
fn total(summary: &Value) -> u64 {
    let operations = summary["completions"].as_object().expect("an object").values();
    let counts = operations.flat_map(|counts| counts.as_object().expect("an object").values());
    counts.map(|count| count.as_u64().expect("a count")).sum()
}

#[test]
fn a_run_that_holds_says_so_and_prints_its_figures() {
    for store in ["memory", "sqlite"] {
        let place = Place::new();
        let ended = place.stagefault(&format!("run --store {store} --ops 500 --seed 7 --out here"));
        let ended = ended.expect_status(0);
        assert!(ended.stdout.starts_with("held: 500 operations in 3 episodes in "), "{ended:#?}");
        assert!(ended.stdout.contains(" a second\n"), "{ended:#?}");
        assert!(ended.stdout.contains("\n  Promote              Done "), "{ended:#?}");
        let subject = format!("\nstore {store}, profile balanced, seed 7\nartifacts in here\n");
        assert!(ended.stdout.ends_with(&subject), "{ended:#?}");
    }
}

#[test]
fn a_run_that_holds_leaves_two_documents_and_no_store() {
    for store in ["memory", "sqlite"] {
        let place = Place::new();
        let command = format!("run --store {store} --ops 500 --seed 7 --profile calls --out here");
        place.stagefault(&command).expect_status(0);
        assert_eq!(place.files(), ["here/run.json", "here/summary.json"]);
        let (run, summary) = (place.json("here/run.json"), place.json("here/summary.json"));
        assert_eq!(run["format"], "stagefault.run/1");
        assert_eq!(run["command"].as_array().map(Vec::len), Some(12));
        assert_eq!(summary["format"], "stagefault.summary/1");
        assert_eq!(summary["outcome"], "held");
        assert_eq!(summary["operations"], 500);
        assert_eq!(total(&summary), 500);
        for document in [run, summary] {
            assert_eq!(document["store"], store);
            assert_eq!(document["profile"], "calls");
            assert_eq!(document["seed"], 7);
        }
    }
}

#[test]
fn the_same_seed_meets_the_same_completions_on_every_store() {
    let place = Place::new();
    let completions = |store, seed, out| {
        let command = format!("run --store {store} --ops 900 --seed {seed} --out {out}");
        place.stagefault(&command).expect_status(0);
        place.json(&format!("{out}/summary.json"))["completions"].clone()
    };
    let memory = completions("memory", 7, "memory");
    assert_eq!(memory, completions("memory", 7, "again"));
    assert_eq!(memory, completions("sqlite", 7, "sqlite"));
    assert_ne!(memory, completions("memory", 8, "other"));
}

#[test]
fn the_json_summary_is_the_document_in_the_folder_and_nothing_else_is_printed() {
    let place = Place::new();
    let ended = place.stagefault("run --store memory --ops 300 --json --out here");
    let ended = ended.expect_status(0);
    let printed: Value = serde_json::from_str(&ended.stdout).expect("JSON and nothing else");
    assert_eq!(printed, place.json("here/summary.json"));
    assert!(ended.stderr.starts_with("running memory"), "{ended:#?}");
}

#[test]
fn a_run_for_a_time_ends_by_itself() {
    let place = Place::new();
    let ended = place.stagefault("run --store memory --for 20ms --out here").expect_status(0);
    assert!(ended.stderr.contains("for 20ms"), "{ended:#?}");
    assert!(place.json("here/summary.json")["operations"].as_u64() > Some(0));
}

#[test]
fn a_random_seed_is_printed_and_makes_the_same_run_again() {
    let place = Place::new();
    place.stagefault("run --store memory --ops 300 --out first").expect_status(0);
    let first = place.json("first/summary.json");
    let again = format!("run --store memory --ops 300 --seed {} --out again", first["seed"]);
    let ended = place.stagefault(&again).expect_status(0);
    assert!(ended.stderr.contains(&format!("seed {}", first["seed"])), "{ended:#?}");
    assert_eq!(place.json("again/summary.json")["completions"], first["completions"]);
}

#[test]
fn without_a_command_it_runs_sqlite_for_a_minute_in_a_folder_of_a_new_name() {
    let place = Place::new();
    let mut running = place.start("");
    running.wait_for("running sqlite, profile balanced, seed ");
    running.signal(Signal::INT);
    let ended = running.end().expect_status(130);
    assert!(ended.stderr.contains("for 1m; artifacts in stagefault-runs/20"), "{ended:#?}");
    let files = place.files();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files.iter().all(|file| file.starts_with("stagefault-runs/20")), "{files:?}");
}

#[test]
fn two_runs_of_one_seed_at_one_moment_have_folders_of_their_own() {
    let place = Place::new();
    let start = || place.start("run --store memory --ops 200 --seed 7");
    let runs = [start(), start(), start()];
    for run in runs {
        run.end().expect_status(0);
    }
    assert_eq!(place.files().len(), 6, "{:?}", place.files());
}

#[test]
fn every_profile_can_be_run() {
    let place = Place::new();
    for profile in stagefault_properties::profile::PROFILES {
        let name = profile.name;
        let command = format!("run --store memory --ops 40 --profile {name} --out {name}");
        place.stagefault(&command).expect_status(0);
    }
}

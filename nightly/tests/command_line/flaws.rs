//! The matrix of who catches what.

use crate::support::Place;

#[test]
fn a_flaw_that_is_caught_shows_how_soon_and_how_short() {
    let place = Place::new();
    let ended = place.stagefault("flaws --flaw version-not-checked --seeds 2").expect_status(0);
    for store in ["memory", "sqlite", "postgres"] {
        let row = ended.stdout.lines().find(|line| line.contains(store)).expect("a row");
        assert!(row.starts_with("version-not-checked") && row.contains("shrunk to 2"), "{row}");
    }
    assert!(ended.stdout.ends_with("3 of 3 flaws caught; the canary: caught\n"), "{ended:#?}");
}

#[test]
fn a_flaw_that_is_not_caught_in_time_fails_the_matrix() {
    let place = Place::new();
    let command = "flaws --store memory --flaw deadline-ignored --ops 1";
    let ended = place.stagefault(command).expect_status(1);
    assert!(ended.stdout.contains("NO: not within 1 operations"), "{ended:#?}");
    assert!(ended.stdout.contains("0 of 1 flaws caught"), "{ended:#?}");
}

#[test]
fn the_matrix_as_json_has_every_hunt() {
    let place = Place::new();
    let command = "flaws --store memory --flaw expired-twice --seeds 3 --json";
    let ended = place.stagefault(command).expect_status(0);
    let matrix: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(matrix["format"], "stagefault.flaws/1");
    assert_eq!(matrix["canary"], true);
    assert_eq!(matrix["flaws"][0]["case"], "C19");
    assert_eq!(matrix["flaws"][0]["verdict"], "caught");
    assert_eq!(matrix["flaws"][0]["hunts"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_flaw_that_needs_several_writers_is_hunted_by_turns() {
    let place = Place::new();
    let command = "flaws --store memory --flaw stage-checks-first --flaw expired-twice";
    let ended = place.stagefault(command).expect_status(0);
    let row = ended.stdout.lines().find(|line| line.starts_with("stage-checks-first"));
    let row = row.expect("a row");
    assert!(row.contains("concurrent  within") && row.ends_with("shortest 3"), "{row}");
    assert!(ended.stdout.ends_with("2 of 2 flaws caught; the canary: caught\n"), "{ended:#?}");

    let command = "flaws --store memory --flaw promote-checks-first --seeds 2 --json";
    let ended = place.stagefault(command).expect_status(0);
    let matrix: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let flaw = &matrix["flaws"][0];
    assert_eq!((&flaw["lane"], &flaw["verdict"]), (&"concurrent".into(), &"caught".into()));
    let hunts = flaw["hunts"].as_array().expect("hunts");
    assert_eq!(hunts.len(), 2);
    assert!(hunts.iter().all(|hunt| hunt["episodes"].as_u64() > Some(0)), "{flaw}");
    assert!(place.files().is_empty());
}

#[test]
fn a_race_that_is_not_met_in_so_many_episodes_fails_the_matrix() {
    let place = Place::new();
    let command = "flaws --store memory --flaw create-checks-first --episodes 1 --json";
    let ended = place.stagefault(command).expect_status(1);
    let matrix: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let hunt = &matrix["flaws"][0]["hunts"][0];
    assert_eq!((&hunt["episodes"], &hunt["shrunk"]), (&1.into(), &serde_json::Value::Null));
}

#[test]
fn a_flaw_that_a_store_has_no_place_for_is_refused_with_those_that_have() {
    let place = Place::new();
    let ended = place.stagefault("run --store memory --flaw sweep-of-one-update");
    ended.expect_error(2, &["sweep-of-one-update", "memory", "only in postgres"]);
    let ended = place.stagefault("flaws --store sqlite --flaw sweep-of-one-update");
    ended.expect_error(2, &["none of these flaws", "--flaw", "--store"]);
    assert!(place.files().is_empty());
}

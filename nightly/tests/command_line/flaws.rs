//! The matrix of who catches what.

use crate::support::Place;

#[test]
fn a_flaw_that_is_caught_shows_how_soon_and_how_short() {
    let place = Place::new();
    let ended = place.stagefault("flaws --flaw version-not-checked --seeds 2").expect_status(0);
    for store in ["memory", "sqlite"] {
        let row = ended.stdout.lines().find(|line| line.contains(store)).expect("a row");
        assert!(row.starts_with("version-not-checked") && row.contains("shrunk to 2"), "{row}");
    }
    assert!(ended.stdout.ends_with("2 of 2 flaws caught; the canary: caught\n"), "{ended:#?}");
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
    assert_eq!(matrix["flaws"][0]["hunts"].as_array().map(Vec::len), Some(3));
}

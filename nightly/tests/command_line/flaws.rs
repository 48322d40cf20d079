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
fn a_flaw_that_needs_another_lane_is_listed_as_waiting_and_not_hunted() {
    let place = Place::new();
    let command = "flaws --flaw sweep-of-one-update --flaw expired-twice --store postgres";
    let ended = place.stagefault(command).expect_status(0);
    let row = ended.stdout.lines().find(|line| line.starts_with("sweep-of-one-update"));
    let row = row.expect("a row");
    assert!(row.ends_with("concurrent  waiting for its lane; shortest 5"), "{row}");
    let last = "1 of 1 flaws caught, 1 waiting for their lane; the canary: caught\n";
    assert!(ended.stdout.ends_with(last), "{ended:#?}");

    let command = "flaws --flaw promote-guarded-by-version --json";
    let ended = place.stagefault(command).expect_status(0);
    let matrix: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let flaw = &matrix["flaws"][0];
    assert_eq!((&flaw["lane"], &flaw["verdict"]), (&"concurrent".into(), &"waiting".into()));
    assert_eq!((&flaw["case"], &flaw["store"]), (&"C01".into(), &"postgres".into()));
    assert_eq!(flaw["hunts"].as_array().map(Vec::len), Some(0));
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

//! `stagefault run --chaos`: connections, callers and the server break while writers work.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use stagefault_models::Schedule;

use crate::support::Place;

/// A short run; the sum of a column of its matrix.
fn sum(matrix: &Value, column: &str) -> u64 {
    let rows = matrix["rows"].as_array().expect("a list").iter();
    rows.filter_map(|row| row[column].as_u64()).sum()
}

#[test]
fn a_chaos_run_holds_and_its_matrix_says_what_was_done() {
    let place = Place::new();
    let run = "run --store postgres --chaos --ops 1000 --seed 7 --out here";
    let ended = place.stagefault(run).expect_status(0);
    assert!(ended.stdout.starts_with("held: "), "{ended:#?}");
    let subject = "store postgres, chaos, profile chaos, 4 writers, seed 7\n";
    assert!(ended.stdout.contains(subject), "{ended:#?}");
    assert_eq!(place.json("here/run.json")["chaos"]["server"], true);

    let ended = place.stagefault("matrix here --json").expect_status(0);
    let matrix: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let (attempted, fired) = (sum(&matrix, "attempted"), sum(&matrix, "fired"));
    assert!(fired > 20 && fired <= attempted, "{fired} of {attempted}");
    let ends =
        ["done", "refused", "not_applied", "unknown", "unknown_applied", "unknown_not_applied"];
    assert_eq!(ends.map(|end| sum(&matrix, end)).iter().sum::<u64>(), fired);
    assert_eq!(matrix["total"]["fired"], fired);
    let summary = place.json("here/summary.json");
    assert_eq!(summary["real_faults"], matrix["rows"]);

    let table = place.stagefault("matrix here").expect_status(0).stdout;
    let rows = matrix["rows"].as_array().expect("a list").len();
    assert_eq!(table.lines().count(), rows + 2, "{table}");
    assert!(table.starts_with("operation "), "{table}");
    // Of the same run twice, everything is there twice.
    let twice = place.stagefault("matrix here here --json").expect_status(0).stdout;
    let twice: Value = serde_json::from_str(&twice).expect("JSON");
    assert_eq!(sum(&twice, "fired"), 2 * fired);
    let page = place.read("here/report.html");
    assert!(page.contains("Faults done for real") && page.contains("attempted"), "no heat map");
}

#[test]
fn a_chaos_run_is_gone_on_with_as_it_was_begun() {
    let place = Place::new();
    let run = "run --store postgres --chaos --ops 200 --seed 7 --out here";
    place.stagefault(run).expect_status(0);
    let run = place.read("here/run.json").replace("\"operations\": 200", "\"operations\": 500");
    place.write("here/run.json", run);
    let fired = place.json("here/summary.json")["real_faults"].clone();
    place.stagefault("run --resume here").expect_status(0);
    let summary = place.json("here/summary.json");
    assert!(summary["operations"].as_u64() >= Some(500), "{summary}");
    let sum = |rows: &Value| {
        let rows = rows.as_array().expect("a list").iter();
        rows.filter_map(|row| row["attempted"].as_u64()).sum::<u64>()
    };
    assert!(sum(&summary["real_faults"]) > sum(&fired), "{summary}");
}

#[test]
fn a_server_that_does_not_come_back_ends_the_run_with_what_it_has() {
    let place = Place::new();
    let mut running = place.start("run --store postgres --chaos --for 10m --seed 7 --out here");
    running.wait_for("running store postgres, chaos");
    // Running, the server does not miss it; killed, it does not start again without.
    let control: Vec<PathBuf> = servers(&place)
        .into_iter()
        .map(|server| server.join("data/global/pg_control"))
        .filter(|control| control.exists())
        .collect();
    assert_eq!(control.len(), 1, "{control:?}");
    fs::rename(&control[0], control[0].with_extension("gone")).expect("it can be moved");
    let ended = running.end().expect_status(3);
    let errors: Vec<&str> =
        ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{ended:#?}");
    assert!(errors[0].contains("did not come back after it was killed"), "{ended:#?}");
    assert!(ended.stdout.starts_with("could not go on ("), "{ended:#?}");
    for name in ["journal.jsonl", "junit.xml", "report.html", "summary.json"] {
        assert!(place.path(&format!("here/{name}")).exists(), "{name}");
    }
    assert_eq!(place.json("here/summary.json")["outcome"], "could_not_go_on");
}

fn servers(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.temporary()).expect("a folder").flatten();
    let named = |path: &PathBuf| path.to_string_lossy().contains("stagefault-postgres-");
    entries.map(|entry| entry.path()).filter(named).collect()
}

#[test]
fn a_schedule_with_faults_is_replayed_on_a_server_that_can_meet_them() {
    let place = Place::new();
    let operations = r#"[
        {"writer": 0, "operation": {"CreateSession": {"session": "s"}}},
        {"writer": 1, "operation": {"Touch": {"session": "s"}},
         "fault": {"At": {"point": "CommitDelivered", "kind": "Reset"}}},
        {"writer": 0, "operation": {"Touch": {"session": "s"}},
         "fault": {"At": {"point": "Acquire", "kind": "ServerKill"}}},
        {"writer": 1, "operation": {"Load": {"session": "s"}}}]"#;
    let text = format!(
        r#"{{"format": "{}", "interleaving": "Free", "operations": {operations}}}"#,
        Schedule::FORMAT
    );
    place.write("faults.json", text);
    let ended = place.stagefault("replay faults.json --store postgres").expect_status(0);
    assert!(ended.stdout.contains("1 schedule: 1 held, 0 failed"), "{ended:#?}");
    let ended = place.stagefault("replay faults.json --store memory");
    ended.expect_error(2, &["the memory store has neither", "--store postgres"]);
}

#[test]
fn chaos_is_asked_of_what_can_break() {
    let place = Place::new();
    let ended = place.stagefault("run --chaos --store memory --out here");
    ended.expect_error(2, &["the memory store has neither", "--store postgres"]);
    let ended = place.stagefault("run --chaos --store postgres --profile large --out here");
    ended.expect_error(2, &["not large", "chaos, commits or lapses"]);
    place.stagefault("run --writers 2 --store memory --ops 100 --out calm").expect_status(0);
    place.stagefault("matrix calm").expect_error(2, &["without --chaos"]);
    assert!(!place.path("here").exists());
}

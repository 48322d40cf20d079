//! Replaying schedules, alone and by the folder.

use crate::support::Place;

/// Appends a message twice: fails with the flaw append-not-idempotent, and holds without.
pub const APPENDS_TWICE: &str = r#"{"format":"stagefault.schedule/1","operations":[
    {"writer":0,"operation":{"CreateSession":{"session":"s"}}},
    {"writer":0,"operation":{"AppendMessages":{"session":"s","messages":[{"id":"m","body":1}]}}},
    {"writer":1,"operation":{"AppendMessages":{"session":"s","messages":[{"id":"m","body":1}]}}}
]}"#;

/// Holds with every flaw.
pub const CREATES: &str = r#"{"format":"stagefault.schedule/1","operations":[
    {"writer":0,"operation":{"CreateSession":{"session":"s"}}}
]}"#;

/// The schedule with this store in its origin.
fn from(store: &str, schedule: &str) -> String {
    let origin = format!(
        r#""origin":{{"lane":"schedule","store":"{store}","profile":"p","seed":1,"episode":0}},"#
    );
    schedule.replace(r#""operations""#, &format!("{origin}\"operations\""))
}

#[test]
fn a_schedule_that_holds_exits_0_on_every_store() {
    let place = Place::new();
    place.write("twice.json", APPENDS_TWICE);
    for store in ["memory", "sqlite", "postgres"] {
        let ended = place.stagefault(&format!("replay twice.json --store {store}"));
        let stdout = ended.expect_status(0).stdout;
        let line = format!("held       twice.json  (3 operations on {store})\n");
        assert_eq!(stdout, format!("{line}1 schedule: 1 held, 0 failed\n"));
        assert_eq!(place.files(), ["twice.json"]);
    }
}

#[test]
fn a_schedule_that_fails_is_explained_and_exits_1() {
    let place = Place::new();
    place.write("twice.json", APPENDS_TWICE);
    let ended = place.stagefault("replay twice.json --store memory --flaw append-not-idempotent");
    let stdout = ended.expect_status(1).stdout;
    let line =
        "violation  twice.json  (3 operations on memory with the flaw append-not-idempotent)";
    assert!(stdout.starts_with(&format!("{line}\n  append_idempotency broken by ")), "{stdout}");
    assert!(stdout.contains("operation 2 (counted from 0), writer 1"), "{stdout}");
    assert!(stdout.ends_with("\n1 schedule: 0 held, 1 failed\n"), "{stdout}");
}

#[test]
fn the_store_is_the_one_that_is_named_else_the_origins_else_sqlite() {
    let place = Place::new();
    place.write("none.json", CREATES);
    place.write("memory.json", from("memory", CREATES));
    let store = |command: &str| {
        let stdout = place.stagefault(command).expect_status(0).stdout;
        stdout.split(" on ").nth(1).and_then(|rest| rest.split(')').next()).map(str::to_owned)
    };
    assert_eq!(store("replay none.json").as_deref(), Some("sqlite"));
    assert_eq!(store("replay memory.json").as_deref(), Some("memory"));
    assert_eq!(store("replay memory.json --store sqlite").as_deref(), Some("sqlite"));
}

#[test]
fn an_origin_from_a_store_that_this_build_lacks_is_not_replayed_on_another_unasked() {
    let place = Place::new();
    place.write("far.json", from("redis", CREATES));
    let ended = place.stagefault("replay far.json");
    ended.expect_error(2, &["far.json", "\"redis\"", "--store"]);
    place.stagefault("replay far.json --store memory").expect_status(0);
}

#[test]
fn a_folder_is_replayed_by_name_with_all_that_is_below() {
    let place = Place::new();
    for name in ["all/b.json", "all/a.json", "all/a/2.json", "all/a/1.json"] {
        place.write(name, CREATES);
    }
    place.write("all/c.json", APPENDS_TWICE);
    place.write("all/notes.txt", "not looked at");
    place.write("all/.hidden.json", "not looked at");
    place.write("all/.git/x.json", "not looked at");
    let ended = place.stagefault("replay all --store memory --flaw append-not-idempotent");
    let ended = ended.expect_status(1);
    let names: Vec<&str> = ended
        .stdout
        .lines()
        .filter_map(|line| line.split_once("  all/"))
        .map(|(_, it)| it)
        .collect();
    let names: Vec<&str> = names.iter().filter_map(|name| name.split("  (").next()).collect();
    assert_eq!(names, ["a/1.json", "a/2.json", "a.json", "b.json", "c.json"], "{ended:#?}");
    assert!(ended.stdout.ends_with("\n5 schedules: 4 held, 1 failed\n"), "{ended:#?}");
}

#[test]
fn of_a_run_only_the_shrunk_schedule_is_replayed() {
    let place = Place::new();
    let run = "run --store memory --ops 1000000 --seed 7 --flaw staging-not-cleared --out here";
    place.stagefault(run).expect_status(1);
    let ended = place.stagefault("replay here --flaw staging-not-cleared").expect_status(1);
    assert!(ended.stdout.starts_with("violation  here/failures/1/shrunk.json  ("), "{ended:#?}");
    assert!(ended.stdout.ends_with("\n1 schedule: 0 held, 1 failed\n"), "{ended:#?}");
}

#[test]
fn a_schedule_with_its_shrunk_form_beside_it_is_left_out_unless_it_is_named() {
    let place = Place::new();
    place.write("all/x.json", APPENDS_TWICE);
    place.write("all/x.shrunk.json", CREATES);
    let ended = place.stagefault("replay all all/x.json --store memory").expect_status(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("held       all/x.shrunk.json  (1 "), "{lines:?}");
    assert!(lines[1].starts_with("held       all/x.json  (3 "), "{lines:?}");
}

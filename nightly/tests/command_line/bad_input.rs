//! What cannot be used is refused with status 2, in one line that says what to do.

use crate::replaying::CREATES;
use crate::support::Place;

#[test]
fn arguments_that_cannot_be_used_are_refused_before_anything_is_made() {
    let cases: &[(&str, &[&str])] = &[
        ("run --store postgrex", &["postgrex", "--store"]),
        ("run --profile heavy", &["heavy", "--profile"]),
        ("run --flaw typo", &["typo", "--flaw"]),
        ("run --fast", &["--fast"]),
        ("run --ops 0", &["--ops"]),
        ("run --ops many", &["many", "--ops"]),
        ("run --for 0s", &["0s", "--for"]),
        ("run --for soon", &["soon", "--for", "90s, 10m or 8h"]),
        ("run --for 10", &["--for", "90s, 10m or 8h"]),
        ("run --for 1m --ops 5", &["--for", "--ops"]),
        ("run --seed -1", &["-1"]),
        ("replay", &["FILE|FOLDER"]),
        ("shrink", &["FILE"]),
        ("shrink x.json --attempts lots", &["lots", "--attempts"]),
        ("completions tcsh", &["tcsh"]),
        ("run --store postgres --url", &["--url"]),
        ("walk", &["walk"]),
    ];
    let place = Place::new();
    for (command, words) in cases {
        let ended = place.stagefault(command).expect_status(2);
        assert!(ended.stderr.starts_with("error: "), "{command}: {ended:#?}");
        for word in *words {
            assert!(ended.stderr.contains(word), "{command}: no {word:?} in {ended:#?}");
        }
        assert_eq!(ended.stdout, "", "{command}");
    }
    assert!(place.files().is_empty());
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let place = Place::new();
    let ended = place.stagefault("run --store mongo").expect_status(2);
    assert!(ended.stderr.contains("[possible values: memory, sqlite, postgres]"), "{ended:#?}");
    let ended = place.stagefault("run --profile none").expect_status(2);
    assert!(ended.stderr.contains("balanced, promotes, messages"), "{ended:#?}");
    let ended = place.stagefault("run --flaw none").expect_status(2);
    assert!(ended.stderr.contains("version-not-checked"), "{ended:#?}");
}

#[test]
fn a_file_that_is_no_schedule_is_named_with_the_reason() {
    let cases: &[(&str, &[u8], &str)] = &[
        ("empty.json", b"", "EOF"),
        ("truncated.json", &CREATES.as_bytes()[..CREATES.len() - 5], "EOF"),
        ("other.json", br#"{"format":"stagefault.schedule/2","ops":1}"#, "schedule/2"),
        ("package.json", br#"{"name":"x"}"#, "no \"format\" member"),
        ("binary.json", b"\xff\xfe", "not UTF-8"),
        (
            "edited.json",
            br#"{"format":"stagefault.schedule/1","operations":[
                {"writer":0,"operation":{"CreateSession":{"session":"s","expires":5}}}]}"#,
            "unknown field `expires`",
        ),
        (
            "writer.json",
            br#"{"format":"stagefault.schedule/1","operations":[
                {"writer":70000,"operation":{"Load":{"session":"s"}}}]}"#,
            "writer past 255",
        ),
        ("run.json", br#"{"format":"stagefault.run/1","seed":1}"#, "stagefault.run/1"),
    ];
    let place = Place::new();
    for (name, content, reason) in cases {
        place.write(name, content);
        for command in ["replay", "shrink"] {
            let ended = place.stagefault(&format!("{command} {name} --store memory"));
            ended.expect_error(2, &[name, reason]);
        }
    }
    for command in ["replay", "shrink"] {
        let ended = place.stagefault(&format!("{command} absent.json"));
        ended.expect_error(2, &["absent.json", "cannot be read", "No such file"]);
    }
    place.write("folder/file", "");
    place.stagefault("shrink folder").expect_error(2, &["folder", "cannot be read"]);
}

#[test]
fn a_folder_without_schedules_is_refused() {
    let place = Place::new();
    place.write("none/notes.txt", "text");
    place.write("none/run.json", r#"{"format":"stagefault.run/1"}"#);
    let ended = place.stagefault("replay none");
    ended.expect_error(2, &["none", "holds no schedule", "stagefault.schedule/1"]);
}

#[test]
fn of_a_folder_every_bad_file_is_named_and_nothing_is_replayed() {
    let place = Place::new();
    place.write("all/a.json", CREATES);
    place.write("all/b.json", "{}");
    place.write("all/c/d.json", "[");
    let ended = place.stagefault("replay all --store memory").expect_status(2);
    let errors: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("error: all/b.json: not a schedule"), "{errors:?}");
    assert!(errors[1].starts_with("error: all/c/d.json: not a schedule"), "{errors:?}");
    assert_eq!(ended.stdout, "");
}

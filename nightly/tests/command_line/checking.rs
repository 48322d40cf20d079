//! Checking recorded histories: the verdicts, what a person is told, and files that are none.

use rustix::process::Signal;

use crate::support::Place;

const HEADER: &str = "{\"format\":\"stagefault.history/1\"}\n";

/// Two writers append to a session, and one of them counts what is there then.
fn history(total: u64) -> String {
    let lines = [
        r#"{"writer":0,"call":{"CreateSession":{"session":"s"}}}"#.to_owned(),
        r#"{"writer":0,"return":{"Done":{"Created":{"version":1}}}}"#.to_owned(),
        append(0, "m"),
        append(1, "n"),
        r#"{"writer":1,"return":{"Done":{"Appended":{"appended":1,"total":1}}}}"#.to_owned(),
        format!(
            r#"{{"writer":0,"return":{{"Done":{{"Appended":{{"appended":1,"total":{total}}}}}}}}}"#
        ),
    ];
    format!("{HEADER}{}\n", lines.join("\n"))
}

fn append(writer: u32, message: &str) -> String {
    let messages = format!(r#"[{{"id":"{message}","body":1}}]"#);
    format!(
        r#"{{"writer":{writer},"call":{{"AppendMessages":{{"session":"s","messages":{messages}}}}}}}"#
    )
}

/// Writers append at the same time, none of them learns of what the others did, and a count
/// says more than there can be: all their orders have to be tried.
fn hard() -> String {
    let writers = 24;
    let mut lines = vec![
        r#"{"writer":0,"call":{"CreateSession":{"session":"s"}}}"#.to_owned(),
        r#"{"writer":0,"return":{"Done":{"Created":{"version":1}}}}"#.to_owned(),
    ];
    lines.extend((0..writers).map(|writer| append(writer, &format!("m{writer}"))));
    let lost = r#"{"Unknown":{"cause":"Connection","reason":"lost"}}"#;
    lines.extend((0..writers).map(|writer| format!(r#"{{"writer":{writer},"return":{lost}}}"#)));
    lines.push(append(0, "last"));
    lines.push(
        r#"{"writer":0,"return":{"Done":{"Appended":{"appended":1,"total":99}}}}"#.to_owned(),
    );
    format!("{HEADER}{}\n", lines.join("\n"))
}

#[test]
fn a_linearizable_history_exits_0() {
    let place = Place::new();
    place.write("good.jsonl", history(2));
    let ended = place.stagefault("check good.jsonl").expect_status(0);
    let beginning = "linearizable  good.jsonl  (3 operations on 1 session, 4 steps in ";
    assert!(ended.stdout.starts_with(beginning), "{ended:#?}");
    assert_eq!((ended.stdout.lines().count(), ended.stderr.as_str()), (1, ""));
    assert_eq!(place.files(), ["good.jsonl"]);
}

#[test]
fn a_history_without_operations_is_linearizable() {
    let place = Place::new();
    place.write("empty.jsonl", HEADER);
    let ended = place.stagefault("check empty.jsonl").expect_status(0);
    assert!(ended.stdout.contains("(0 operations on 0 sessions, 0 steps in "), "{ended:#?}");
}

#[test]
fn a_violation_is_explained_and_exits_1() {
    let place = Place::new();
    place.write("bad.jsonl", history(1));
    let ended = place.stagefault("check bad.jsonl").expect_status(1);
    let (headline, explanation) = ended.stdout.split_once("\n\n").expect("two parts");
    assert!(headline.starts_with("violation  bad.jsonl  (3 operations on 1 session, "));
    assert_eq!(
        explanation,
        r#"no order of the operations of session "s" explains all answers

the longest order that does so has 2 operations:
  #0 writer 0 [0..1] {"CreateSession":{"session":"s"}} -> {"Done":{"Created":{"version":1}}}
  #2 writer 1 [3..4] {"AppendMessages":{"messages":[{"body":1,"id":"n"}],"session":"s"}} -> {"Done":{"Appended":{"appended":1,"total":1}}}

and cannot go on with
  #1 writer 0 [2..5] {"AppendMessages":{"messages":[{"body":1,"id":"m"}],"session":"s"}} -> {"Done":{"Appended":{"appended":1,"total":1}}}
  the model would answer  {"Done":{"Appended":{"appended":1,"total":2}}}
  what was seen           {"Done":{"Appended":{"appended":1,"total":1}}}
"#
    );
}

#[test]
fn a_history_that_is_too_hard_is_undecided_and_exits_4() {
    let place = Place::new();
    place.write("hard.jsonl", hard());
    for (limits, why) in [
        ("--for 1s", "it took more than 1s; --for gives it longer"),
        ("--memory 4", "it needed more than 4 MiB; --memory gives it more"),
    ] {
        let ended = place.stagefault(&format!("check hard.jsonl {limits}")).expect_status(4);
        assert!(ended.stdout.starts_with("undecided  hard.jsonl  (26 operations on 1 session, "));
        let rest = ended.stdout.split_once("\n\n").expect("two parts").1;
        let sessions =
            "1 session without a verdict:\n  \"s\": an order was found for 1 of 2 returns\n";
        assert_eq!(rest, format!("{why}\n{sessions}"), "{ended:#?}");
    }
}

#[test]
fn verdicts_are_json_when_asked_for() {
    let place = Place::new();
    place.write("good.jsonl", history(2));
    place.write("bad.jsonl", history(1));
    place.write("hard.jsonl", hard());
    let document = |command: &str, status| -> serde_json::Value {
        let stdout = place.stagefault(command).expect_status(status).stdout;
        serde_json::from_str(&stdout).expect("JSON")
    };
    let good = document("check good.jsonl --json", 0);
    assert_eq!(good["format"], "stagefault.check/1");
    assert_eq!((&good["verdict"], &good["operations"]), (&"linearizable".into(), &3.into()));
    let bad = document("check bad.jsonl --json", 1);
    assert_eq!(bad["verdict"], "violation");
    let violation = &bad["violation"];
    assert_eq!((&violation["session"], &violation["stuck"]), (&"s".into(), &1.into()));
    assert_eq!(violation["prefix"], serde_json::json!([0, 2]));
    assert_eq!(violation["expected"]["Done"]["Appended"]["total"], 2);
    assert_eq!(violation["seen"]["Done"]["Appended"]["total"], 1);
    let hard = document("check hard.jsonl --json --memory 4", 4);
    assert_eq!(hard["verdict"], "undecided");
    assert_eq!(hard["undecided"]["sessions"][0]["of"], 2);
}

#[test]
fn a_signal_ends_a_check_without_a_verdict() {
    let place = Place::new();
    place.write("hard.jsonl", hard());
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut running = place.start("check hard.jsonl --for 1h --memory 1000000 -v");
        running.wait_for("checking");
        running.signal(signal);
        let ended = running.end().expect_status(status);
        assert!(ended.stdout.contains("\n\ninterrupted by SIG"), "{ended:#?}");
    }
}

#[test]
fn a_file_that_is_no_history_is_named_with_the_line() {
    let place = Place::new();
    let call = append(0, "m");
    let cases = [
        ("schedule.json", crate::replaying::CREATES.to_owned(), "not a history: its first line"),
        (
            "newer.jsonl",
            "{\"format\":\"stagefault.history/2\"}\n".to_owned(),
            "stagefault.history/2",
        ),
        ("cut.jsonl", history(2)[..120].to_owned(), "line 3: column "),
        ("overlap.jsonl", format!("{HEADER}{call}\n{call}\n"), "line 3: writer 0 calls before its"),
        (
            "stray.jsonl",
            format!("{HEADER}{{\"writer\":4,\"return\":{{\"Done\":\"Touched\"}}}}"),
            "line 2: a return to writer 4, who has no operation open",
        ),
        (
            "unknown.jsonl",
            format!("{HEADER}{}", call.replace("AppendMessages", "Append")),
            "line 2: column 28: unknown variant `Append`",
        ),
    ];
    for (name, text, words) in cases {
        place.write(name, text);
        place.stagefault(&format!("check {name}")).expect_error(2, &[name, words]);
    }
    place.write("binary.jsonl", b"\xff\xfe");
    place.stagefault("check binary.jsonl").expect_error(2, &["binary.jsonl", "not UTF-8"]);
    place.stagefault("check missing.jsonl").expect_error(2, &["missing.jsonl", "cannot be read"]);
}

#[test]
fn limits_that_cannot_be_used_are_refused() {
    let place = Place::new();
    for (command, words) in
        [("check", "FILE"), ("check x --memory 0", "--memory"), ("check x --for 0s", "--for")]
    {
        let ended = place.stagefault(command).expect_status(2);
        assert!(ended.stderr.contains(words), "{ended:#?}");
    }
}

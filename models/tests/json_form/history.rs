//! Histories: written and read as ever, and what is not one is refused by its line.

use stagefault_models::{Cause, Completion, Failure, History, Reason, Recorded, Reply, Returned};

use crate::words::*;

const HISTORY_1: &str = include_str!("../golden/history-1.jsonl");

const HEADER: &str = r#"{"format":"stagefault.history/1"}"#;
const CALL: &str = r#"{"writer":0,"call":{"Load":{"session":"s"}}}"#;
const RETURN: &str = r#"{"writer":0,"return":{"Refused":"SessionNotFound"}}"#;

fn history() -> History {
    let failure = |cause| Failure { cause, reason: Reason("text for a reader".into()) };
    let returned = |at, completion| Some(Returned { at, completion });
    let recorded =
        |writer, called, operation, returned| Recorded { writer, operation, called, returned };
    let created = Completion::Done(Reply::Created { version: 1 });
    let unknown = Completion::Unknown(failure(Cause::Deadline));
    let not_applied = Completion::NotApplied(failure(Cause::Connection));
    History {
        operations: vec![
            recorded(0, 0, create(), returned(4, created)),
            recorded(u32::MAX, 3, expire_calls(0), returned(6, unknown)),
            recorded(0, 5, load(), returned(9, not_applied)),
            recorded(1, 7, request_interrupt(), None),
            recorded(0, u64::MAX, delete(), None),
        ],
    }
}

#[test]
fn a_history_of_version_1_is_written_as_ever() {
    assert_eq!(history().to_json_lines(), HISTORY_1);
}

#[test]
fn a_history_of_version_1_is_read_as_ever() {
    assert_eq!(History::from_json_lines(HISTORY_1).expect("version 1"), history());
}

/// The history of these lines, after the header.
fn read(lines: &[&str]) -> Result<History, String> {
    let text = [&[HEADER], lines].concat().join("\n");
    History::from_json_lines(&text).map_err(|error| error.to_string())
}

/// The line that refuses these lines.
#[track_caller]
fn refused(lines: &[&str]) -> String {
    let line = read(lines).expect_err("refused");
    assert!(!line.contains('\n'), "one line: {line}");
    line
}

#[test]
fn the_order_of_the_lines_is_the_clock_where_they_name_none() {
    let history = read(&[CALL, RETURN, r#"{"at":7,"writer":0,"call":{"ExpireCalls":{"now":1}}}"#]);
    let operations = history.expect("a history").operations;
    assert_eq!((operations[0].called, operations[1].called), (0, 7));
    assert_eq!(operations[0].returned.as_ref().map(|returned| returned.at), Some(1));
}

#[test]
fn what_has_not_returned_at_the_end_is_in_doubt() {
    let history = read(&[CALL]).expect("a history");
    assert_eq!(history.operations[0].returned, None);
    assert_eq!(read(&[]), Ok(History::default()));
}

#[test]
fn a_text_that_does_not_say_what_it_is() {
    let line = r#"not a history: its first line is not {"format":"stagefault.history/1"}"#;
    for text in ["", "operations", CALL, "[]", "{}", "\n", r#"{"format":"stag"#] {
        let error = History::from_json_lines(text).expect_err(text).to_string();
        assert_eq!(error, line, "{text}");
    }
}

#[test]
fn another_version_is_named_whatever_else_it_holds() {
    let text = "{\"format\":\"stagefault.history/2\",\"faults\":[]}\nanything";
    assert_eq!(
        History::from_json_lines(text).expect_err(text).to_string(),
        r#"a history of format "stagefault.history/2"; this version reads "stagefault.history/1""#
    );
}

#[test]
fn a_line_that_is_no_json_or_cut_short() {
    assert_eq!(refused(&[CALL, "x"]), "line 3: column 1: expected value");
    for end in 1..CALL.len() {
        let line = refused(&[&CALL[..end]]);
        assert!(line.starts_with("line 2: column ") && line.contains(": EOF while parsing"));
    }
}

#[test]
fn a_line_that_is_no_event_or_two() {
    assert_eq!(refused(&[r#"{"writer":0}"#]), "line 2: it has neither \"call\" nor \"return\"");
    let both = RETURN.replace("\"return\"", r#""call":{"Load":{"session":"s"}},"return""#);
    assert_eq!(
        refused(&[&both]),
        "line 2: it has both \"call\" and \"return\"; they are lines of their own"
    );
}

#[test]
fn an_operation_or_a_member_that_is_unknown() {
    let line = refused(&[CALL, r#"{"writer":1,"call":{"Lod":{"session":"s"}}}"#]);
    assert!(
        line.starts_with("line 3: column 25: unknown variant `Lod`, expected one of "),
        "{line}"
    );
    let line = refused(&[r#"{"writer":1,"calls":{}}"#]);
    assert!(line.starts_with("line 2: column 19: unknown field `calls`"), "{line}");
    let line = refused(&[r#"{"call":{"ExpireCalls":{"now":1}}}"#]);
    assert!(line.starts_with("line 2: column 34: missing field `writer`"), "{line}");
}

#[test]
fn a_writer_that_calls_while_it_has_an_operation_open() {
    assert_eq!(
        refused(&[CALL, RETURN, CALL, CALL]),
        "line 5: writer 0 calls before its Load returned; a writer has one operation open"
    );
}

#[test]
fn a_return_to_a_writer_who_has_no_operation_open() {
    let line = |line| format!("line {line}: a return to writer 0, who has no operation open");
    assert_eq!(refused(&[RETURN]), line(2));
    assert_eq!(refused(&[CALL, RETURN, RETURN]), line(4));
    assert_eq!(refused(&[&CALL.replace('0', "1"), RETURN]), line(3));
}

#[test]
fn a_clock_that_stands_or_runs_back() {
    let at = |at: u64, line: &str| line.replacen('{', &format!("{{\"at\":{at},"), 1);
    for back in [4, 5] {
        assert_eq!(
            refused(&[&at(5, CALL), &at(back, RETURN)]),
            "line 3: the clock runs back: \"at\" must be more than 5, that of the line before"
        );
    }
    let line = refused(&[&at(u64::MAX, CALL), RETURN]);
    assert!(line.starts_with("line 3: the clock runs back"), "{line}");
}

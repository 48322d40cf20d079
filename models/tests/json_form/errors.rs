//! What is not a schedule is refused in one clear line.

use stagefault_models::Schedule;

/// The line that refuses the text.
#[track_caller]
fn refused(text: &str) -> String {
    let line = Schedule::from_json(text).expect_err(text).to_string();
    assert!(!line.contains('\n'), "one line: {line}");
    line
}

/// What the line says is wrong with a document that claims to be a schedule, and in which
/// line of it; the column is the parser's affair.
#[track_caller]
fn malformed(text: &str) -> String {
    let line = refused(text);
    line.strip_prefix("not a schedule of format stagefault.schedule/1: ")
        .and_then(|reason| Some(reason.rsplit_once(" column ")?.0.to_owned()))
        .unwrap_or_else(|| panic!("{line}"))
}

/// A document of one operation, which is this text.
fn of_operation(operation: &str) -> String {
    let entry = format!(r#"{{"writer":0,"operation":{operation}}}"#);
    format!("{{\"format\":\"stagefault.schedule/1\",\"operations\":[\n{entry}]}}")
}

#[test]
fn a_text_that_is_not_json() {
    assert_eq!(malformed("operations: []"), "expected value at line 1");
    assert_eq!(malformed(""), "EOF while parsing a value at line 1");
}

#[test]
fn a_document_that_is_cut_short_is_refused_wherever_it_is_cut() {
    let whole = of_operation(r#"{"Load":{"session":"s"}}"#);
    assert!(Schedule::from_json(&whole).is_ok());
    for end in 0..whole.len() {
        assert!(malformed(&whole[..end]).starts_with("EOF while parsing"), "{}", &whole[..end]);
    }
}

#[test]
fn a_document_that_goes_on_after_its_end() {
    let document = of_operation(r#"{"Load":{"session":"s"}}"#) + "\n]";
    assert_eq!(malformed(&document), "trailing characters at line 3");
}

#[test]
fn a_document_that_says_no_format() {
    let line = r#"not a schedule: it has no "format" member (expected "stagefault.schedule/1")"#;
    assert_eq!(refused(r#"{"operations":[]}"#), line);
    assert_eq!(refused(r#"{"format":null,"operations":[]}"#), line);
}

#[test]
fn a_document_of_another_version_is_named_by_it_whatever_else_it_holds() {
    assert_eq!(
        refused(r#"{"format":"stagefault.schedule/2","operations":{},"faults":[]}"#),
        r#"a document of format "stagefault.schedule/2"; this version reads "stagefault.schedule/1""#
    );
    assert_eq!(
        refused(r#"{"format":1}"#),
        r#"a document of format 1; this version reads "stagefault.schedule/1""#
    );
}

#[test]
fn a_member_that_is_unknown() {
    assert_eq!(
        malformed(r#"{"format":"stagefault.schedule/1","operations":[],"fault":[]}"#),
        "unknown field `fault`, expected one of `format`, `origin`, `interleaving`, \
         `operations` at line 1"
    );
    assert_eq!(
        malformed(&of_operation(r#"{"ExpireCalls":{"now":0}},"at":1"#)),
        "unknown field `at`, expected one of `writer`, `operation`, `fault` at line 2"
    );
    assert_eq!(
        malformed(&of_operation(r#"{"Touch":{"session":"s","expires":1}}"#)),
        "unknown field `expires`, expected `session` or `expires_at` at line 2"
    );
    assert_eq!(
        malformed(&of_operation(r#"{"Stage":{"session":"s","by":1}}"#)),
        "unknown field `by`, expected one of `session`, `step`, `call`, `at`, `changes` \
         at line 2"
    );
}

#[test]
fn a_member_that_is_missing_or_given_twice() {
    assert_eq!(
        malformed(r#"{"format":"stagefault.schedule/1"}"#),
        "missing field `operations` at line 1"
    );
    assert_eq!(
        malformed(&of_operation(r#"{"ReadMessages":{"session":"s","offset":1}}"#)),
        "missing field `limit` at line 2"
    );
    assert_eq!(
        malformed(&of_operation(r#"{"Load":{"session":"s","session":"s"}}"#)),
        "duplicate field `session` at line 2"
    );
}

#[test]
fn an_operation_that_is_unknown_or_more_than_one() {
    let reason = malformed(&of_operation(r#"{"Lod":{"session":"s"}}"#));
    assert!(reason.starts_with("unknown variant `Lod`, expected one of `CreateSession`, "));
    assert!(reason.ends_with(" at line 2"), "{reason}");
    assert_eq!(
        malformed(&of_operation(r#"{"Load":{"session":"s"},"Touch":{"session":"s"}}"#)),
        "expected value at line 2"
    );
}

#[test]
fn a_number_that_is_no_whole_number_of_64_bits() {
    let sweep = |now: &str| of_operation(&format!("{{\"ExpireCalls\":{{\"now\":{now}}}}}"));
    assert_eq!(malformed(&sweep("-1")), "invalid value: integer `-1`, expected u64 at line 2");
    assert_eq!(
        malformed(&sweep("1.5")),
        "invalid type: floating point `1.5`, expected u64 at line 2"
    );
    assert!(malformed(&sweep("18446744073709551616")).contains("expected u64 at line 2"));
}

#[test]
fn a_writer_that_is_out_of_range() {
    let document = |writer: u64| {
        of_operation(r#"{"ExpireCalls":{"now":0}}"#)
            .replace("\"writer\":0", &format!("\"writer\":{writer}"))
    };
    assert!(Schedule::from_json(&document(255)).is_ok());
    assert_eq!(refused(&document(256)), "operation 0 (counted from 0) names a writer past 255");
    assert_eq!(
        malformed(&document(1 << 32)),
        "invalid value: integer `4294967296`, expected u32 at line 2"
    );
}

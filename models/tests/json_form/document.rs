//! The examples of FORMAT.md are what they are said to be.

use stagefault_models::{Change, Completion, History, Operation, Schedule, Value};

const DOCUMENT: &str = include_str!("../../FORMAT.md");

/// The fenced examples of this kind: the word after `json` on the fence.
fn examples(kind: &str) -> Vec<&'static str> {
    let fence = format!("```json {kind}\n");
    DOCUMENT.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Every line of the examples parses.
#[track_caller]
fn lines_parse<T: serde::de::DeserializeOwned>(kind: &str) {
    let lines: Vec<&str> = examples(kind).into_iter().flat_map(str::lines).collect();
    assert!(!lines.is_empty(), "no example of {kind}");
    for line in lines {
        if let Err(error) = serde_json::from_str::<T>(line) {
            panic!("{line}: {error}");
        }
    }
}

#[test]
fn the_schedules_shown_parse() {
    let schedules = examples("schedule");
    assert!(!schedules.is_empty());
    for text in schedules {
        assert_eq!(Schedule::from_json(text).expect(text).to_json(), text, "as it is written");
    }
}

#[test]
fn the_histories_shown_parse() {
    let histories = examples("history");
    assert!(!histories.is_empty());
    for text in histories {
        let history = History::from_json_lines(text).expect(text);
        assert_eq!(History::from_json_lines(&history.to_json_lines()).expect(text), history);
    }
}

#[test]
fn the_lines_shown_parse() {
    lines_parse::<Operation>("operations");
    lines_parse::<Change>("changes");
    lines_parse::<Completion>("completions");
}

#[test]
fn the_numbers_shown_are_equal_in_each_line() {
    for line in examples("numbers").into_iter().flat_map(str::lines) {
        let values: Vec<Value> = serde_json::from_str(line).expect(line);
        assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "{line}");
    }
}

//! Whatever is written is read back equal, and written again as the same text.

use std::fmt::Debug;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stagefault_models::{History, Schedule, Value};

use super::strategies::*;

/// The same text again says more than equality, for any two reasons are equal.
fn round_trips<T>(written: &T) -> Result<(), TestCaseError>
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let text =
        serde_json::to_string(written).map_err(|error| TestCaseError::fail(format!("{error}")))?;
    prop_assert!(!text.contains('\n'), "one line: {}", text);
    match serde_json::from_str::<T>(&text) {
        Ok(read) => {
            prop_assert_eq!(&read, written, "{}", text);
            prop_assert_eq!(serde_json::to_string(&read).ok(), Some(text));
            Ok(())
        }
        Err(error) => Err(TestCaseError::fail(format!("{error}: {text}"))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_round_trips(value in value()) {
        round_trips(&value)?;
        prop_assert_eq!(Value::from_json(&value.to_json()).ok(), Some(value));
    }

    #[test]
    fn a_message_round_trips(message in message()) {
        round_trips(&message)?;
    }

    #[test]
    fn a_change_round_trips(change in change()) {
        round_trips(&change)?;
    }

    #[test]
    fn a_status_round_trips(status in status()) {
        round_trips(&status)?;
        prop_assert_eq!(stagefault_models::Status::from_name(status.as_str()), Some(status));
        prop_assert_eq!(serde_json::to_value(status).ok(), Some(status.as_str().into()));
    }

    #[test]
    fn an_operation_round_trips(operation in operation()) {
        round_trips(&operation)?;
    }

    #[test]
    fn a_snapshot_round_trips(snapshot in snapshot()) {
        round_trips(&snapshot)?;
    }

    #[test]
    fn a_reply_round_trips(reply in reply()) {
        round_trips(&reply)?;
    }

    #[test]
    fn a_refusal_round_trips(refusal in refusal()) {
        round_trips(&refusal)?;
    }

    #[test]
    fn a_completion_round_trips(completion in completion()) {
        round_trips(&completion)?;
    }

    #[test]
    fn a_schedule_round_trips(schedule in schedule()) {
        round_trips(&schedule)?;
        let text = schedule.to_json();
        match Schedule::from_json(&text) {
            Ok(read) => prop_assert_eq!(read, schedule),
            Err(error) => prop_assert!(false, "{}: {}", error, text),
        }
    }

    #[test]
    fn a_schedule_is_a_line_for_each_operation(schedule in schedule()) {
        let text = schedule.to_json();
        let lines = text.lines().filter(|line| line.starts_with("    {")).count();
        prop_assert_eq!(lines, schedule.operations.len());
    }

    #[test]
    fn a_history_round_trips(history in history()) {
        let text = history.to_json_lines();
        match History::from_json_lines(&text) {
            Ok(read) => {
                prop_assert_eq!(&read, &history, "{}", text);
                prop_assert_eq!(read.to_json_lines(), text);
            }
            Err(error) => prop_assert!(false, "{}: {}", error, text),
        }
    }
}

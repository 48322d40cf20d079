//! A violation of the contract, in words for a reader.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;
use serde_json::Value as Json;

use super::super::Violation;
use crate::{Completion, History, Id, Recorded};

/// The most operations that are shown before the one that has no place.
const SHOWN: usize = 12;

/// Shows a violation beside the history that it was found in.
pub struct Explanation<'a> {
    /// The history.
    pub history: &'a History,
    /// The violation.
    pub violation: &'a Violation<Id, Completion>,
}

impl Display for Explanation<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Violation { key, prefix, stuck, expected } = self.violation;
        writeln!(formatter, "no order of the operations of session {key:?} explains all answers")?;
        writeln!(formatter)?;
        match prefix.len() {
            0 => writeln!(formatter, "nothing can be placed before")?,
            1 => writeln!(formatter, "the longest order that does so begins with 1 operation:")?,
            count => {
                writeln!(formatter, "the longest order that does so has {count} operations:")?;
            }
        }
        let hidden = prefix.len().saturating_sub(SHOWN);
        if hidden > 0 {
            writeln!(formatter, "  ... {hidden} before these")?;
        }
        for place in &prefix[hidden..] {
            self.line(formatter, *place)?;
        }
        writeln!(formatter)?;
        writeln!(formatter, "and cannot go on with")?;
        self.line(formatter, *stuck)?;
        let Some(seen) = self.history.operations.get(*stuck).and_then(completion) else {
            return Ok(());
        };
        let [expected, seen] = differing(expected, seen);
        writeln!(formatter, "  the model would answer  {expected}")?;
        writeln!(formatter, "  what was seen           {seen}")
    }
}

impl Explanation<'_> {
    /// The operation of this place: its number, writer, interval, what it asked and learned.
    fn line(&self, formatter: &mut Formatter<'_>, place: usize) -> fmt::Result {
        let Some(recorded) = self.history.operations.get(place) else { return Ok(()) };
        let Recorded { writer, operation, called, returned } = recorded;
        write!(formatter, "  #{place} writer {writer} [{called}..")?;
        if let Some(returned) = returned {
            write!(formatter, "{}", returned.at)?;
        }
        write!(formatter, "] {}", shortened(&json(operation).to_string()))?;
        match returned.as_ref().map(|returned| &returned.completion) {
            None | Some(Completion::Unknown(_)) => {
                writeln!(formatter, " -> in doubt, taken to have happened here")
            }
            Some(completion) => {
                writeln!(formatter, " -> {}", shortened(&json(completion).to_string()))
            }
        }
    }
}

fn completion(recorded: &Recorded) -> Option<&Completion> {
    recorded.returned.as_ref().map(|returned| &returned.completion)
}

fn json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

/// The start of a text that is too long for a line.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Two completions as text; of two snapshots, the members that differ.
fn differing(expected: &Completion, seen: &Completion) -> [String; 2] {
    let (mut left, mut right) = (json(expected), json(seen));
    let snapshots = "/Done/Snapshot";
    if let (Some(Json::Object(left)), Some(Json::Object(right))) =
        (left.pointer_mut(snapshots), right.pointer_mut(snapshots))
    {
        let equal: Vec<String> = left
            .iter()
            .filter(|(key, value)| right.get(*key) == Some(value))
            .map(|(key, _)| key.clone())
            .collect();
        for key in equal {
            left.remove(&key);
            right.remove(&key);
        }
    }
    [left.to_string(), right.to_string()]
}

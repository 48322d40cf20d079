//! The form of a history that any store can log: a line of JSON for each event.
//!
//! A call is written when it starts and a return when it ends, so that a log needs no
//! memory of its own, and a run that was killed leaves the history of what it did. The
//! order of the lines is the clock; `at` says more only where a reader wants times.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{History, Recorded, Returned};
use crate::{Completion, Operation};

/// The first line.
#[derive(Deserialize)]
struct Header {
    format: Option<serde_json::Value>,
}

/// Any other line: `call` or `return`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    at: Option<u64>,
    writer: u32,
    #[serde(default)]
    call: Option<Operation>,
    #[serde(default, rename = "return")]
    completion: Option<Completion>,
}

/// A line to be written.
#[derive(Serialize)]
struct Event<'a> {
    at: u64,
    writer: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a Operation>,
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    completion: Option<&'a Completion>,
}

impl History {
    /// The history as JSON lines, in the order of the clock.
    pub fn to_json_lines(&self) -> String {
        let events =
            self.operations.iter().flat_map(|recorded| {
                let &Recorded { writer, called: at, ref operation, .. } = recorded;
                let call = Event { at, writer, call: Some(operation), completion: None };
                let back = recorded.returned.as_ref().map(|&Returned { at, ref completion }| {
                    Event { at, writer, call: None, completion: Some(completion) }
                });
                [Some(call), back].into_iter().flatten()
            });
        let mut events: Vec<Event> = events.collect();
        events.sort_by_key(|event| event.at);
        let mut text = format!("{{\"format\":\"{}\"}}\n", Self::FORMAT);
        for event in events {
            text += &serde_json::to_string(&event).expect("an event's keys are strings");
            text.push('\n');
        }
        text
    }

    /// Reads JSON lines. What has no return at the end is in doubt.
    ///
    /// # Errors
    /// [`HistoryError`], which names the line that is not what it should be.
    pub fn from_json_lines(text: &str) -> Result<Self, HistoryError> {
        let mut lines = (1..).zip(text.lines());
        check_header(lines.next().map_or("", |(_, header)| header))?;
        let mut reading = Reading::default();
        for (line, text) in lines {
            reading.line(text).map_err(|damage| HistoryError::Damaged { line, damage })?;
        }
        Ok(reading.history)
    }
}

/// Judges the first line alone: another version may well have other lines.
fn check_header(header: &str) -> Result<(), HistoryError> {
    let header: Header = serde_json::from_str(header).map_err(|_| HistoryError::NoFormat)?;
    match header.format {
        Some(format) if format == History::FORMAT => Ok(()),
        Some(format) => Err(HistoryError::OtherFormat { found: format.to_string() }),
        None => Err(HistoryError::NoFormat),
    }
}

/// A history, as far as its lines were read.
#[derive(Default)]
struct Reading {
    history: History,
    /// For each writer with an open operation, its place.
    open: HashMap<u32, usize>,
    /// The last position of the clock.
    last: Option<u64>,
}

impl Reading {
    fn line(&mut self, text: &str) -> Result<(), Damage> {
        let line: Line = serde_json::from_str(text)?;
        let at = self.tick(line.at)?;
        match (line.call, line.completion) {
            (Some(operation), None) => self.call(at, line.writer, operation),
            (None, Some(completion)) => self.back(at, line.writer, completion),
            (None, None) => Err(Damage::NoEvent),
            (Some(_), Some(_)) => Err(Damage::TwoEvents),
        }
    }

    /// The line's position: what it says, and else the next.
    fn tick(&mut self, at: Option<u64>) -> Result<u64, Damage> {
        let next = self.last.map_or(Some(0), |last| last.checked_add(1));
        match (at, next) {
            (Some(at), Some(next)) if at >= next => self.last = Some(at),
            (None, Some(next)) => self.last = Some(next),
            _ => return Err(Damage::ClockRunsBack { last: self.last.unwrap_or(0) }),
        }
        Ok(self.last.unwrap_or(0))
    }

    fn call(&mut self, called: u64, writer: u32, operation: Operation) -> Result<(), Damage> {
        let place = self.history.operations.len();
        if let Some(open) = self.open.insert(writer, place) {
            let operation = &self.history.operations[open].operation;
            return Err(Damage::Overlap { writer, open: format!("{:?}", operation.kind()) });
        }
        self.history.operations.push(Recorded { writer, operation, called, returned: None });
        Ok(())
    }

    fn back(&mut self, at: u64, writer: u32, completion: Completion) -> Result<(), Damage> {
        let place = self.open.remove(&writer).ok_or(Damage::ReturnWithoutCall { writer })?;
        self.history.operations[place].returned = Some(Returned { at, completion });
        Ok(())
    }
}

/// Why a text is not a history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The first line does not say what it is.
    #[error("not a history: its first line is not {{\"format\":\"{}\"}}", History::FORMAT)]
    NoFormat,
    /// It is of a format that this version does not read.
    #[error("a history of format {found}; this version reads \"{}\"", History::FORMAT)]
    OtherFormat {
        /// What it says it is.
        found: String,
    },
    /// A line is not what it should be.
    #[error("line {line}: {damage}")]
    Damaged {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        damage: Damage,
    },
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// It is not the JSON of a call or a return.
    #[error("column {column}: {reason}")]
    Malformed {
        /// Where, counted from 1.
        column: usize,
        /// The parser's words.
        reason: String,
    },
    /// It is neither a call nor a return.
    #[error("it has neither \"call\" nor \"return\"")]
    NoEvent,
    /// It is both.
    #[error("it has both \"call\" and \"return\"; they are lines of their own")]
    TwoEvents,
    /// Its position is not past that of the line before.
    #[error("the clock runs back: \"at\" must be more than {last}, that of the line before")]
    ClockRunsBack {
        /// The position of the line before.
        last: u64,
    },
    /// The writer has an operation open.
    #[error("writer {writer} calls before its {open} returned; a writer has one operation open")]
    Overlap {
        /// The writer.
        writer: u32,
        /// The name of the operation that is open.
        open: String,
    },
    /// The writer has no operation open.
    #[error("a return to writer {writer}, who has no operation open")]
    ReturnWithoutCall {
        /// The writer.
        writer: u32,
    },
}

impl From<serde_json::Error> for Damage {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        // The parser counts lines within the line that it was given.
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        Damage::Malformed { column: error.column(), reason: reason.to_owned() }
    }
}

//! The schedule document: the one artifact that every lane writes and replays.
//!
//! It holds decoded operations and their writers, never only a seed, for seeds rot when
//! the generator changes. The JSON form is versioned by [`Schedule::FORMAT`]; unknown
//! members are refused, so that a slip in a hand-edited file is found and not ignored.

use serde::{Deserialize, Serialize};

use crate::{Fault, Operation};

/// Operations and who sends them, in the order in which they are called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Always [`Schedule::FORMAT`].
    format: Format,
    /// Where the schedule came from. Replay needs none of it, but takes the store from it
    /// where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How the operations overlap; absent: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interleaving: Option<Interleaving>,
    /// The operations.
    pub operations: Vec<Entry>,
}

/// How the operations of a concurrent schedule overlap.
///
/// They are called in the schedule's order, and a writer has one open at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interleaving {
    /// Each as soon as its writer is free; the store and the system decide the rest.
    Free,
    /// One turn after another, on one thread: the place of the operation that goes on to
    /// its next point. The first turn of an operation calls it. A turn that names one that
    /// cannot be called yet, or has returned, is passed over; and after the last turn the
    /// operations go on in the schedule's order, each to its end.
    Turns(Vec<u32>),
}

/// One operation and its writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The writer that sends the operation, counted from 0; each has a store handle of its own.
    pub writer: u32,
    /// What it sends.
    pub operation: Operation,
    /// What is made to fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl Entry {
    /// An operation of this writer, with no fault.
    pub fn new(writer: u32, operation: Operation) -> Self {
        Entry { writer, operation, fault: None }
    }
}

/// Where a schedule came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The lane that found or generated it.
    pub lane: String,
    /// The store that it ran against.
    pub store: String,
    /// The profile that it was generated under.
    pub profile: String,
    /// The run's seed.
    pub seed: u64,
    /// The episode's number within the run.
    pub episode: u64,
}

/// The format's name as a type, so that no other version can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Format {
    #[serde(rename = "stagefault.schedule/1")]
    Version1,
}

impl Schedule {
    /// The name and version of the document's format.
    pub const FORMAT: &'static str = "stagefault.schedule/1";

    /// The most writers that a schedule may name; each costs a store handle.
    pub const MAX_WRITERS: u32 = 256;

    /// A schedule of these operations.
    pub fn new(operations: Vec<Entry>) -> Self {
        Schedule { format: Format::Version1, origin: None, interleaving: None, operations }
    }

    /// The same document with other operations in the same places.
    pub fn with_operations(&self, operations: Vec<Entry>) -> Self {
        let (origin, interleaving) = (self.origin.clone(), self.interleaving.clone());
        Schedule { format: self.format, origin, interleaving, operations }
    }

    /// Keeps the operations in these places, and the turns that are theirs.
    pub fn retain(&mut self, kept: impl Fn(usize) -> bool) {
        let mut places = Vec::with_capacity(self.operations.len());
        let mut next = 0;
        for index in 0..self.operations.len() {
            places.push(kept(index).then_some(next));
            next += u32::from(kept(index));
        }
        if let Some(Interleaving::Turns(turns)) = &mut self.interleaving {
            let place = |turn: &u32| places.get(*turn as usize).copied().flatten();
            *turns = turns.iter().filter_map(place).collect();
        }
        let mut index = 0;
        self.operations.retain(|_| {
            index += 1;
            places[index - 1].is_some()
        });
    }

    /// Whether only the concurrent lane can do all that the schedule says.
    pub fn is_concurrent(&self) -> bool {
        self.interleaving.is_some() || self.operations.iter().any(|entry| entry.fault.is_some())
    }

    /// Whether it takes a store that is set up for faults that are done for real.
    pub fn has_real_faults(&self) -> bool {
        self.operations.iter().filter_map(|entry| entry.fault).any(|fault| fault.is_real())
    }

    /// A schedule of these operations, all sent by writer 0.
    pub fn of_one_writer(operations: impl IntoIterator<Item = Operation>) -> Self {
        let entry = |operation| Entry::new(0, operation);
        Schedule::new(operations.into_iter().map(entry).collect())
    }

    /// How many writers the schedule needs: at least one.
    pub fn writers(&self) -> u32 {
        self.operations.iter().map(|entry| entry.writer + 1).max().unwrap_or(1)
    }

    /// Parses a schedule document.
    ///
    /// # Errors
    /// [`ScheduleError`], saying whether it is no schedule, one of another version, or a
    /// damaged one, and where.
    pub fn from_json(text: &str) -> Result<Self, ScheduleError> {
        #[derive(Deserialize)]
        struct Header {
            format: Option<serde_json::Value>,
        }
        // The version is judged first: a newer format may well have unknown members.
        let header: Header = serde_json::from_str(text)?;
        match header.format {
            Some(format) if format == Self::FORMAT => {}
            Some(format) => return Err(ScheduleError::OtherFormat { found: format.to_string() }),
            None => return Err(ScheduleError::NoFormat),
        }
        let schedule: Schedule = serde_json::from_str(text)?;
        match schedule.operations.iter().position(|entry| entry.writer >= Self::MAX_WRITERS) {
            Some(index) => Err(ScheduleError::TooManyWriters { index }),
            None => Ok(schedule),
        }
    }

    /// The document as JSON text, an operation a line.
    pub fn to_json(&self) -> String {
        let compact = |operation: &Entry| {
            serde_json::to_string(operation).expect("an entry's keys are strings")
        };
        let mut text = format!("{{\n  \"format\": \"{}\",\n", Self::FORMAT);
        if let Some(origin) = &self.origin {
            let origin = serde_json::to_string(origin).expect("an origin's keys are strings");
            text += &format!("  \"origin\": {origin},\n");
        }
        if let Some(interleaving) = &self.interleaving {
            let turns = serde_json::to_string(interleaving).expect("turns are numbers");
            text += &format!("  \"interleaving\": {turns},\n");
        }
        let lines: Vec<String> =
            self.operations.iter().map(|entry| format!("    {}", compact(entry))).collect();
        text += &format!("  \"operations\": [\n{}\n  ]\n}}\n", lines.join(",\n"));
        text
    }
}

/// Why a text is not a schedule.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// It is not the JSON of a schedule.
    #[error("not a schedule of format {format}: {0}", format = Schedule::FORMAT)]
    Malformed(#[from] serde_json::Error),
    /// It does not say what it is.
    #[error("not a schedule: it has no \"format\" member (expected \"{}\")", Schedule::FORMAT)]
    NoFormat,
    /// It is of a format that this version does not read.
    #[error("a document of format {found}; this version reads \"{}\"", Schedule::FORMAT)]
    OtherFormat {
        /// What it says it is.
        found: String,
    },
    /// An operation's writer is out of range.
    #[error("operation {index} (counted from 0) names a writer past {}", Schedule::MAX_WRITERS - 1)]
    TooManyWriters {
        /// The operation's place.
        index: usize,
    },
}

//! What a run comes to: one word, and an exit status.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::coverage::Missing;
use super::signature::Kind;
use crate::exit::Exit;
use crate::signals::Signal;

/// How a run of the concurrent lane ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Held,
    Violation,
    /// The checker could not decide an episode.
    Undecided,
    /// It was long enough, and did not see what it must.
    BelowFloor,
    Interrupted,
    CouldNotGoOn,
    /// It was killed, or a shard is missing.
    Unfinished,
    DidNothing,
}

/// Why a run ended before its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The signal that ended it early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
    /// Why it could not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What the outcome follows from.
pub struct Facts<'a> {
    pub kinds: &'a [Kind],
    /// Absent: nothing says that it ended.
    pub ending: Option<&'a Ending>,
    pub episodes: u64,
    pub missing: &'a Missing,
}

impl Outcome {
    /// The gravest of what is the case.
    pub fn of(facts: &Facts<'_>) -> Self {
        let Facts { kinds, ending, episodes, missing } = facts;
        match ending {
            _ if kinds.iter().any(|kind| *kind != Kind::Undecided) => Outcome::Violation,
            None => Outcome::Unfinished,
            Some(ending) if ending.error.is_some() => Outcome::CouldNotGoOn,
            _ if !kinds.is_empty() => Outcome::Undecided,
            Some(ending) if ending.signal.is_some() => Outcome::Interrupted,
            _ if *episodes == 0 => Outcome::DidNothing,
            _ if !missing.is_empty() => Outcome::BelowFloor,
            _ => Outcome::Held,
        }
    }

    /// The exit status that says so.
    pub fn exit(self, ending: &Ending) -> Exit {
        match self {
            Outcome::Held => Exit::Held,
            Outcome::Violation => Exit::Violation,
            Outcome::Undecided | Outcome::BelowFloor => Exit::Undecided,
            Outcome::Interrupted => ending.signal.map_or(Exit::CouldNotRun, Exit::Interrupted),
            Outcome::CouldNotGoOn | Outcome::Unfinished | Outcome::DidNothing => Exit::CouldNotRun,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Outcome::Held => "held",
            Outcome::Violation => "violation",
            Outcome::Undecided => "undecided",
            Outcome::BelowFloor => "below its coverage floor",
            Outcome::Interrupted => "interrupted",
            Outcome::CouldNotGoOn => "could not go on",
            Outcome::Unfinished => "unfinished",
            Outcome::DidNothing => "did nothing",
        })
    }
}

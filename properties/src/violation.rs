//! What a lane says of a store that broke the contract, and of one that could not be used.

use std::fmt;

use serde::{Deserialize, Serialize};
use stagefault_models::{BackendError, Failure, Invariant, OperationKind};

/// A store broke the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The invariant that is broken.
    pub invariant: Invariant,
    /// The place in the schedule of the operation that showed it; absent: the checks at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// That operation's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationKind>,
    /// What happened, line by line, for a reader.
    pub explanation: Vec<String>,
}

/// What makes two violations the same failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Signature {
    /// The broken invariant.
    pub invariant: Invariant,
    /// The operation that showed it.
    pub operation: Option<OperationKind>,
}

impl Violation {
    /// What makes this violation the same failure as another.
    pub fn signature(&self) -> Signature {
        Signature { invariant: self.invariant, operation: self.operation }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Some(operation) => write!(formatter, "{} broken by {operation:?}", self.invariant),
            None => write!(formatter, "{} broken, found at the end", self.invariant),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.signature())?;
        self.explanation.iter().try_for_each(|line| write!(formatter, "\n  {line}"))
    }
}

/// Why an episode ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum EpisodeError {
    /// The store broke the contract.
    #[error("{0}")]
    Violation(Box<Violation>),
    /// The checker used up its budget before it found an order, or that there is none.
    #[error("undecided: {0}")]
    Undecided(String),
    /// The store's namespace could not be used.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The store reported trouble with its infrastructure where no fault was planned.
    #[error("the store could not execute {operation:?}: {failure}")]
    Failed {
        /// What was asked.
        operation: OperationKind,
        /// What the store said.
        failure: Failure,
    },
}

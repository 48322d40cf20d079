//! What a concurrent run recorded: call and return of every operation.
//!
//! Calls and returns are
//! positions on one monotonic clock, so that of any two operations it is known whether
//! one had returned before the other was called. What lies between is for the checker to
//! order. Any store can log one, as lines of JSON.

mod lines;

use crate::{Completion, Operation};

pub use lines::{Damage, HistoryError};

/// What a concurrent run recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The operations, in the order in which they were called.
    pub operations: Vec<Recorded>,
}

/// One operation: who sent it, when, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The writer, who has one operation open at a time.
    pub writer: u32,
    /// What it sent.
    pub operation: Operation,
    /// When it was sent: a position on the history's clock. No two calls or returns share one.
    pub called: u64,
    /// What came back. Absent: it never returned, and so is in doubt.
    pub returned: Option<Returned>,
}

/// The return of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// When it came: a position on the history's clock, after the call.
    pub at: u64,
    /// What the writer learned.
    pub completion: Completion,
}

impl History {
    /// The name and version of the form.
    pub const FORMAT: &'static str = "stagefault.history/1";
}

//! What makes two failures the same, and the file that names those that are known.
//!
//! The file is JSON:
//!
//! ```json
//! {
//!   "format": "stagefault.known/1",
//!   "failures": [
//!     {"kind": "order", "invariant": "atomicity", "operation": "Promote", "note": "TICKET-7"},
//!     {"kind": "rows", "invariant": "liveness"}
//!   ]
//! }
//! ```

use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stagefault_models::{Invariant, OperationKind};

use crate::error::CommandError;

/// How an episode failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No order of the operations explains every answer.
    Order,
    /// The raw rows are not what was read, or something is left.
    Rows,
    /// The store panicked.
    Panic,
    /// The store did not answer.
    Hang,
    /// It went on failing when all faults had healed.
    Failing,
    /// The checker used up its time or memory.
    Undecided,
}

/// What makes two failures the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Signature {
    pub kind: Kind,
    /// The broken invariant; absent: it was not decided whether one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant: Option<Invariant>,
    /// The operation that showed it; absent: the rows, which no operation did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationKind>,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Kind::Order => "order",
            Kind::Rows => "rows",
            Kind::Panic => "panic",
            Kind::Hang => "hang",
            Kind::Failing => "failing",
            Kind::Undecided => "undecided",
        })
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Signature { kind, invariant, operation } = self;
        match (invariant, operation) {
            (None, _) => write!(formatter, "{kind}"),
            (Some(invariant), None) => write!(formatter, "{invariant} broken ({kind})"),
            (Some(invariant), Some(operation)) => {
                write!(formatter, "{invariant} broken by {operation:?} ({kind})")
            }
        }
    }
}

/// The file of known failures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownFile {
    format: KnownFormat,
    failures: Vec<Known>,
}

#[derive(Deserialize)]
enum KnownFormat {
    #[serde(rename = "stagefault.known/1")]
    Version1,
}

/// A known failure: its signature, and why it is let be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    kind: Kind,
    invariant: Option<Invariant>,
    operation: Option<OperationKind>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// Reads the file of known failures.
///
/// # Errors
/// [`CommandError::BadFile`].
pub fn read_known(path: &Path) -> Result<Vec<Signature>, CommandError> {
    let bad = |reason: String| CommandError::BadFile { path: path.to_owned(), reason };
    let text = fs::read_to_string(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let file: KnownFile = serde_json::from_str(&text)
        .map_err(|error| bad(format!("not a list of known failures: {error}")))?;
    let KnownFile { format: KnownFormat::Version1, failures } = file;
    let signature =
        |Known { kind, invariant, operation, .. }| Signature { kind, invariant, operation };
    Ok(failures.into_iter().map(signature).collect())
}

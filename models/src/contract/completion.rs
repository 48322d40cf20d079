//! What a caller learned of its operation: a reply, a refusal, or an infrastructure failure.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::{Id, Message, Shared, Snapshot, StagedMark, Status, Version};

/// The outcome of an operation as its caller knows it. Nothing else may come out of a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Completion {
    /// It took effect exactly once, between call and return.
    Done(Reply),
    /// It had no effect; the refusal held at a moment between call and return.
    Refused(Refusal),
    /// The infrastructure failed, and the operation has not had and never will have an effect.
    NotApplied(Failure),
    /// In doubt: it takes effect once, now or later, or never.
    Unknown(Failure),
}

impl Completion {
    /// Which completion it is, as reports count it.
    pub fn kind(&self) -> CompletionKind {
        match self {
            Completion::Done(_) => CompletionKind::Done,
            Completion::Refused(refusal) => refusal.kind(),
            Completion::NotApplied(_) => CompletionKind::NotApplied,
            Completion::Unknown(_) => CompletionKind::Unknown,
        }
    }
}

/// The name of a completion: for a refusal, that of the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each names the completion or refusal of the same name")]
pub enum CompletionKind {
    Done,
    InvalidInput,
    SessionNotFound,
    SessionExists,
    StepClosed,
    StaleState,
    StatusMismatch,
    CallConflict,
    UnknownCall,
    RunFenced,
    CallResolved,
    CallExpired,
    MessageConflict,
    MergeConflict,
    NotApplied,
    Unknown,
}

impl CompletionKind {
    /// Every completion, refusals in the contract's order.
    pub const ALL: [CompletionKind; 16] = [
        CompletionKind::Done,
        CompletionKind::InvalidInput,
        CompletionKind::SessionNotFound,
        CompletionKind::SessionExists,
        CompletionKind::StepClosed,
        CompletionKind::StaleState,
        CompletionKind::StatusMismatch,
        CompletionKind::CallConflict,
        CompletionKind::UnknownCall,
        CompletionKind::RunFenced,
        CompletionKind::CallResolved,
        CompletionKind::CallExpired,
        CompletionKind::MessageConflict,
        CompletionKind::MergeConflict,
        CompletionKind::NotApplied,
        CompletionKind::Unknown,
    ];
}

impl From<Result<Reply, Refusal>> for Completion {
    fn from(answer: Result<Reply, Refusal>) -> Self {
        match answer {
            Ok(reply) => Completion::Done(reply),
            Err(refusal) => Completion::Refused(refusal),
        }
    }
}

/// What a successful operation answers, one variant for each kind of operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the contract's own words, explained on the operations")]
pub enum Reply {
    Created { version: Version },
    Deleted,
    Snapshot(Shared<Snapshot>),
    Page { messages: Vec<Message>, total: u64 },
    Touched,
    Staged,
    Discarded { calls: u64 },
    Promoted { version: Version, applied: u64, appended: u64 },
    Appended { appended: u64, total: u64 },
    StatusSet { version: Version },
    RunBegun { turn: u64 },
    InterruptRequested,
    Interrupt { taken: bool },
    Registered,
    Submitted,
    CallsExpired(Vec<ExpiredCall>),
    Cleaned { sessions: Vec<Id>, staged: Vec<CleanedStaging> },
}

impl Reply {
    /// Sorts the lists whose order the contract leaves free, so that replies compare by `==`.
    pub fn sort(&mut self) {
        match self {
            Reply::CallsExpired(calls) => calls.sort_unstable(),
            Reply::Cleaned { sessions, staged } => {
                sessions.sort_unstable();
                staged.sort_unstable();
            }
            // Looked at first, for sorting what is shared would copy it.
            Reply::Snapshot(snapshot) if snapshot.staged.is_sorted() => {}
            Reply::Snapshot(snapshot) => snapshot.staged.sort_unstable(),
            _ => {}
        }
    }
}

/// A call that a sweep expired.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the contract's own words")]
pub struct ExpiredCall {
    pub session: Id,
    pub call: Id,
}

/// A staged tool call that a cleanup removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the contract's own words")]
pub struct CleanedStaging {
    pub session: Id,
    pub step: Id,
    pub call: Id,
}

impl CleanedStaging {
    /// The staged call `mark` of `session`.
    pub fn of(session: &Id, mark: &StagedMark) -> Self {
        CleanedStaging {
            session: session.clone(),
            step: mark.step.clone(),
            call: mark.call.clone(),
        }
    }
}

/// A typed domain answer: the store is healthy and nothing changed.
///
/// Where several hold, the first in this order wins.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the contract's own words, explained on the operations")]
pub enum Refusal {
    /// An id, value, time or limit that the contract does not admit; the text is not compared.
    InvalidInput(Reason),
    SessionNotFound,
    SessionExists {
        version: Version,
    },
    /// The step is the last promoted one.
    StepClosed,
    StaleState {
        expected: Version,
        current: Version,
    },
    StatusMismatch {
        status: Status,
        version: Version,
    },
    /// The call is registered under another run or deadline.
    CallConflict,
    UnknownCall,
    /// The call belongs to this other run.
    RunFenced {
        run: Id,
    },
    CallResolved {
        #[serde(rename = "as")]
        resolution: Resolution,
    },
    /// The call is pending and `now` is at or past its deadline.
    CallExpired,
    /// A message of this id is there, or earlier in the list, with another body.
    MessageConflict {
        id: Id,
    },
    /// An append to a non-array, an increment of a non-integer, or an overflow, at this key.
    MergeConflict {
        key: Id,
    },
}

impl Refusal {
    /// Which refusal it is.
    pub fn kind(&self) -> CompletionKind {
        match self {
            Refusal::InvalidInput(_) => CompletionKind::InvalidInput,
            Refusal::SessionNotFound => CompletionKind::SessionNotFound,
            Refusal::SessionExists { .. } => CompletionKind::SessionExists,
            Refusal::StepClosed => CompletionKind::StepClosed,
            Refusal::StaleState { .. } => CompletionKind::StaleState,
            Refusal::StatusMismatch { .. } => CompletionKind::StatusMismatch,
            Refusal::CallConflict => CompletionKind::CallConflict,
            Refusal::UnknownCall => CompletionKind::UnknownCall,
            Refusal::RunFenced { .. } => CompletionKind::RunFenced,
            Refusal::CallResolved { .. } => CompletionKind::CallResolved,
            Refusal::CallExpired => CompletionKind::CallExpired,
            Refusal::MessageConflict { .. } => CompletionKind::MessageConflict,
            Refusal::MergeConflict { .. } => CompletionKind::MergeConflict,
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the contract's own words")]
pub enum Resolution {
    Submitted,
    Expired,
}

/// Text for a reader. Every two are equal, for the contract does not compare it.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reason(pub String);

impl PartialEq for Reason {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::hash::Hash for Reason {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// An infrastructure failure: what a caller may be told when the store itself is in trouble.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What kind of trouble.
    pub cause: Cause,
    /// The details, for a reader; no secrets.
    pub reason: Reason,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.cause, self.reason.0)
    }
}

/// Kinds of infrastructure failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// The connection could not be made, or broke.
    Connection,
    /// The operation's deadline passed.
    Deadline,
    /// Another writer held what was needed for too long, or the store gave way to it.
    Contention,
    /// No room left where the store writes.
    OutOfSpace,
    /// The store's own data cannot be understood.
    Damaged,
    /// The store answered with an error that none of the above describes.
    Store,
}

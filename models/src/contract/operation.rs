//! Requests to a store, as data.
//!
//! The JSON form is serde's external tagging under the names below, for example
//! `{"Load": {"session": "s"}}`; a request without an expiry leaves the member out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Change, Id, Message, Millis, Status, Value, Version};

/// A request to a store. Effects, replies and refusals are listed at each operation of
/// the reference model, [`step`](crate::model::step).
///
/// It is laid out as written, the session first in every variant and at one place, for who
/// handles an operation mostly asks that first, and more than once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the contract's own words, explained on the operations")]
#[repr(u8)]
pub enum Operation {
    /// Begins a session at version 1, active and empty.
    CreateSession {
        session: Id,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Millis>,
    },
    /// Removes a session and all that hangs on it.
    DeleteSession { session: Id },
    /// Reads all of a session but its messages and its staged changes.
    Load { session: Id },
    /// Reads messages in order; past the end or with limit 0 the page is empty.
    ReadMessages { session: Id, offset: u64, limit: u64 },
    /// Sets or clears the moment from which a cleanup may remove the session.
    Touch {
        session: Id,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Millis>,
    },
    /// Records a tool call's changes, not yet visible.
    Stage(Stage),
    /// Drops what is staged under a step, without closing it.
    Discard { session: Id, step: Id },
    /// Saves state, applies and clears the step's staging, and appends messages, at once.
    Promote(Promote),
    /// Appends the messages that are not there yet.
    AppendMessages { session: Id, messages: Vec<Message> },
    /// Moves the status if it is one of `from`.
    CompareAndSetStatus { session: Id, from: Vec<Status>, to: Status },
    /// Appends a run to the session's list, once.
    BeginRun { session: Id, run: Id },
    /// Sets the interrupt flag.
    RequestInterrupt { session: Id },
    /// Takes the interrupt flag.
    ConsumeInterrupt { session: Id },
    /// Registers a client tool call.
    RegisterCall { session: Id, call: Id, run: Id, deadline: Millis },
    /// Brings a client tool call's result.
    SubmitResult { session: Id, call: Id, run: Id, result: Value, now: Millis },
    /// Expires every pending call with a deadline ≤ `now`, in all sessions.
    ExpireCalls { now: Millis },
    /// Removes expired sessions, and staging with `at` ≤ `now` − `staging_ttl` in the others.
    Cleanup { now: Millis, staging_ttl: Millis },
}

/// Records one tool call's changes under (session, step, call), not yet visible.
///
/// It replaces what the same (step, call) staged before, `at` too, so that a retried
/// tool call counts once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the contract's own words, explained above")]
#[repr(C)]
pub struct Stage {
    pub session: Id,
    pub step: Id,
    pub call: Id,
    pub at: Millis,
    /// Shared, for a store keeps them until the promote.
    pub changes: Arc<[Change]>,
}

/// The atomic end of a step: applies `changes` and then the step's staging, appends the
/// messages, clears the staging and closes the step, if the version is the expected one.
///
/// Only the last promoted step is closed; an older step may be staged and promoted again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the contract's own words, explained above")]
#[repr(C)]
pub struct Promote {
    pub session: Id,
    pub step: Id,
    pub expected: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    pub changes: Vec<Change>,
    pub messages: Vec<Message>,
}

/// The name of an operation: its variant, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each names the operation of the same name")]
pub enum OperationKind {
    CreateSession,
    DeleteSession,
    Load,
    ReadMessages,
    Touch,
    Stage,
    Discard,
    Promote,
    AppendMessages,
    CompareAndSetStatus,
    BeginRun,
    RequestInterrupt,
    ConsumeInterrupt,
    RegisterCall,
    SubmitResult,
    ExpireCalls,
    Cleanup,
}

impl OperationKind {
    /// Every operation, in the order of the contract.
    pub const ALL: [OperationKind; 17] = [
        OperationKind::CreateSession,
        OperationKind::DeleteSession,
        OperationKind::Load,
        OperationKind::ReadMessages,
        OperationKind::Touch,
        OperationKind::Stage,
        OperationKind::Discard,
        OperationKind::Promote,
        OperationKind::AppendMessages,
        OperationKind::CompareAndSetStatus,
        OperationKind::BeginRun,
        OperationKind::RequestInterrupt,
        OperationKind::ConsumeInterrupt,
        OperationKind::RegisterCall,
        OperationKind::SubmitResult,
        OperationKind::ExpireCalls,
        OperationKind::Cleanup,
    ];
}

impl Operation {
    /// The session that the operation is about; `None` for the two sweeps, which meet
    /// every session of the store.
    pub fn session(&self) -> Option<&Id> {
        match self {
            Operation::CreateSession { session, .. }
            | Operation::DeleteSession { session }
            | Operation::Load { session }
            | Operation::ReadMessages { session, .. }
            | Operation::Touch { session, .. }
            | Operation::Stage(Stage { session, .. })
            | Operation::Discard { session, .. }
            | Operation::Promote(Promote { session, .. })
            | Operation::AppendMessages { session, .. }
            | Operation::CompareAndSetStatus { session, .. }
            | Operation::BeginRun { session, .. }
            | Operation::RequestInterrupt { session }
            | Operation::ConsumeInterrupt { session }
            | Operation::RegisterCall { session, .. }
            | Operation::SubmitResult { session, .. } => Some(session),
            Operation::ExpireCalls { .. } | Operation::Cleanup { .. } => None,
        }
    }

    /// The session that the operation is about, to rename it.
    pub fn session_mut(&mut self) -> Option<&mut Id> {
        match self {
            Operation::CreateSession { session, .. }
            | Operation::DeleteSession { session }
            | Operation::Load { session }
            | Operation::ReadMessages { session, .. }
            | Operation::Touch { session, .. }
            | Operation::Stage(Stage { session, .. })
            | Operation::Discard { session, .. }
            | Operation::Promote(Promote { session, .. })
            | Operation::AppendMessages { session, .. }
            | Operation::CompareAndSetStatus { session, .. }
            | Operation::BeginRun { session, .. }
            | Operation::RequestInterrupt { session }
            | Operation::ConsumeInterrupt { session }
            | Operation::RegisterCall { session, .. }
            | Operation::SubmitResult { session, .. } => Some(session),
            Operation::ExpireCalls { .. } | Operation::Cleanup { .. } => None,
        }
    }

    /// The operation's name.
    pub fn kind(&self) -> OperationKind {
        match self {
            Operation::CreateSession { .. } => OperationKind::CreateSession,
            Operation::DeleteSession { .. } => OperationKind::DeleteSession,
            Operation::Load { .. } => OperationKind::Load,
            Operation::ReadMessages { .. } => OperationKind::ReadMessages,
            Operation::Touch { .. } => OperationKind::Touch,
            Operation::Stage(_) => OperationKind::Stage,
            Operation::Discard { .. } => OperationKind::Discard,
            Operation::Promote(_) => OperationKind::Promote,
            Operation::AppendMessages { .. } => OperationKind::AppendMessages,
            Operation::CompareAndSetStatus { .. } => OperationKind::CompareAndSetStatus,
            Operation::BeginRun { .. } => OperationKind::BeginRun,
            Operation::RequestInterrupt { .. } => OperationKind::RequestInterrupt,
            Operation::ConsumeInterrupt { .. } => OperationKind::ConsumeInterrupt,
            Operation::RegisterCall { .. } => OperationKind::RegisterCall,
            Operation::SubmitResult { .. } => OperationKind::SubmitResult,
            Operation::ExpireCalls { .. } => OperationKind::ExpireCalls,
            Operation::Cleanup { .. } => OperationKind::Cleanup,
        }
    }
}

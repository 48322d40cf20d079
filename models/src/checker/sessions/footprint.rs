//! What each operation has to do with in its session.

use super::super::Footprint;
use crate::{Completion, Operation, Refusal, Reply};

/// The parts of a session, a bit each. What is always written together is one part.
pub(super) mod part {
    /// Whether the session is there. All operations depend on that.
    pub const LIFE: u64 = 1;
    /// The version, and the status and state, which only change with it.
    pub const VERSION: u64 = 1 << 1;
    pub const MESSAGES: u64 = 1 << 2;
    /// What is staged, and which step is closed.
    pub const STAGED: u64 = 1 << 3;
    pub const CALLS: u64 = 1 << 4;
    pub const RUNS: u64 = 1 << 5;
    pub const INTERRUPT: u64 = 1 << 6;
    pub const EXPIRY: u64 = 1 << 7;
}
use part::*;

/// The parts that the operation reads and writes, so answered or in doubt.
pub(super) fn footprint(operation: &Operation, seen: Option<&Completion>) -> Footprint {
    if let Some(Completion::Refused(Refusal::SessionNotFound)) = seen {
        return Footprint { reads: LIFE, writes: 0 };
    }
    let (reads, writes) = match operation {
        Operation::CreateSession { .. } => (VERSION, u64::MAX),
        Operation::DeleteSession { .. } => (0, u64::MAX),
        Operation::Load { .. } => (u64::MAX, 0),
        Operation::ReadMessages { .. } => (MESSAGES, 0),
        Operation::Touch { .. } => (0, EXPIRY),
        Operation::Stage(_) | Operation::Discard { .. } => (STAGED, STAGED),
        Operation::Promote(_) => (VERSION | MESSAGES | STAGED, VERSION | MESSAGES | STAGED),
        Operation::AppendMessages { .. } => (MESSAGES, MESSAGES),
        Operation::CompareAndSetStatus { .. } => (VERSION, VERSION),
        Operation::BeginRun { .. } => (RUNS, RUNS),
        Operation::RequestInterrupt { .. } => (0, INTERRUPT),
        Operation::ConsumeInterrupt { .. } => (INTERRUPT, INTERRUPT),
        Operation::RegisterCall { .. }
        | Operation::SubmitResult { .. }
        | Operation::ExpireCalls { .. } => (CALLS, CALLS),
        Operation::Cleanup { .. } => (EXPIRY | STAGED, cleaned(seen)),
    };
    Footprint { reads: LIFE | reads, writes: if is_pure(seen) { 0 } else { writes } }
}

/// What a cleanup writes: everything where it may have removed the session.
fn cleaned(seen: Option<&Completion>) -> u64 {
    match seen {
        Some(Completion::Done(Reply::Cleaned { sessions, .. })) if sessions.is_empty() => STAGED,
        _ => u64::MAX,
    }
}

/// Whether what was seen says that nothing was changed.
pub(super) fn is_pure(seen: Option<&Completion>) -> bool {
    match seen {
        Some(Completion::Refused(_)) => true,
        Some(Completion::Done(reply)) => changes_nothing(reply),
        Some(Completion::NotApplied(_) | Completion::Unknown(_)) | None => false,
    }
}

/// Whether an operation with this reply left its session as it was.
fn changes_nothing(reply: &Reply) -> bool {
    match reply {
        Reply::Snapshot(_) | Reply::Page { .. } => true,
        Reply::Discarded { calls } => *calls == 0,
        Reply::Appended { appended, .. } => *appended == 0,
        Reply::Interrupt { taken } => !taken,
        Reply::CallsExpired(expired) => expired.is_empty(),
        Reply::Cleaned { sessions, staged } => sessions.is_empty() && staged.is_empty(),
        _ => false,
    }
}

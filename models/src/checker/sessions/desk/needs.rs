//! What must still be written in a session before an answer can be given.
//!
//! Of the answers only what is cheap to compare and often goes wrong is looked at. A version
//! and a count of messages grow as long as the session lives, so what is past them needs
//! another life.

use std::cmp::Ordering;

use super::super::footprint::part::{EXPIRY, INTERRUPT, LIFE, MESSAGES, VERSION};
use super::{Desk, SessionAt};
use crate::{Completion, Operation, Refusal, Reply, Snapshot};

impl Desk {
    /// The parts that must be written before the operation can be so answered.
    pub fn needs(
        &self,
        state: &Option<SessionAt>,
        operation: &Operation,
        seen: &Completion,
    ) -> u64 {
        let Some(at) = state else { return absent_needs(operation, seen) };
        let count = self.messages.length(at.messages) as u64;
        match seen {
            Completion::Done(reply) => match reply {
                Reply::Created { .. } => LIFE,
                Reply::Snapshot(seen) => {
                    at.needs(seen) | grown(count, seen.message_count, MESSAGES)
                }
                Reply::Page { total, .. } => grown(count, *total, MESSAGES),
                Reply::Appended { appended, total } => {
                    grown(count, total.saturating_sub(*appended), MESSAGES)
                }
                Reply::Promoted { version, .. } | Reply::StatusSet { version } => {
                    grown(at.version, version.saturating_sub(1), VERSION)
                }
                _ => 0,
            },
            Completion::Refused(refusal) => match refusal {
                Refusal::SessionNotFound => LIFE,
                Refusal::SessionExists { version }
                | Refusal::StaleState { current: version, .. }
                | Refusal::StatusMismatch { version, .. } => grown(at.version, *version, VERSION),
                _ => 0,
            },
            Completion::NotApplied(_) | Completion::Unknown(_) => 0,
        }
    }
}

impl SessionAt {
    /// What must be written before this, but for the messages, can be seen.
    fn needs(&self, seen: &Snapshot) -> u64 {
        let differs = |differs: bool, part| if differs { part } else { 0 };
        grown(self.version, seen.version, VERSION)
            | differs(self.status != Some(seen.status), VERSION)
            | differs(self.interrupt != seen.interrupt, INTERRUPT)
            | differs(self.expires_at != seen.expires_at, EXPIRY)
    }
}

/// What must be written before a part that only grows is as it was seen.
fn grown(now: u64, seen: u64, part: u64) -> u64 {
    match now.cmp(&seen) {
        Ordering::Less => part,
        Ordering::Equal => 0,
        Ordering::Greater => LIFE,
    }
}

/// What must be written while there is no session.
fn absent_needs(operation: &Operation, seen: &Completion) -> u64 {
    match (operation, seen) {
        (
            Operation::CreateSession { .. }
            | Operation::ExpireCalls { .. }
            | Operation::Cleanup { .. },
            _,
        )
        | (_, Completion::Refused(Refusal::SessionNotFound | Refusal::InvalidInput(_))) => 0,
        _ => LIFE,
    }
}

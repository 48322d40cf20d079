//! What is to be done to an operation, in the terms of the line that it goes through.

use std::time::Duration;

use stagefault_models::{Fault, FaultKind, Point, Scope};

use super::contest::settings;
use crate::proxy::{Answer, Commit, Kind, Place, WireFault, WireReceipt};

/// The deadline of an operation that only its deadline ends.
const SHORT: Duration = Duration::from_millis(400);
/// How long a delay lasts that the operation outlives.
const PAUSE: Duration = Duration::from_millis(20);
/// How long one lasts that outlives the operation.
const LONG_PAUSE: Duration = SHORT.saturating_add(PAUSE);

/// A fault that is to be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) point: Point,
    pub(super) kind: FaultKind,
}

impl Plan {
    pub(super) fn fault(self) -> Fault {
        Fault::At { point: self.point, kind: self.kind }
    }

    /// Whether the point is one that only a line knows.
    pub(super) fn is_on_the_wire(self) -> bool {
        self.place().is_some()
    }

    /// Whether it takes a line to do it.
    pub(super) fn needs_line(self) -> bool {
        let on_the_server = matches!(self.kind, FaultKind::ServerKill | FaultKind::ServerStop);
        let without = self.kind == FaultKind::CallerGone || on_the_server;
        self.is_on_the_wire() || !without
    }

    fn place(self) -> Option<Place> {
        match self.point {
            Point::CommitSent => Some(Place::CommitSent),
            Point::CommitDelivered => Some(Place::CommitDelivered),
            Point::MidReply => Some(Place::MidReply),
            Point::Acquire
            | Point::Begin
            | Point::Statement(_)
            | Point::BeforeCommit
            | Point::Reply => None,
        }
    }

    /// What a line does by itself, if it is one of its kinds.
    pub(super) fn wire_kind(self) -> Option<Kind> {
        let pause = if self.is_on_the_wire() { LONG_PAUSE } else { PAUSE };
        match self.kind {
            FaultKind::Reset => Some(Kind::Reset),
            FaultKind::Close => Some(Kind::Close),
            FaultKind::BlackHole => Some(Kind::BlackHole),
            FaultKind::Delay => Some(Kind::Delay(Some(pause))),
            FaultKind::Truncate => Some(Kind::Truncate),
            FaultKind::Trickle => Some(Kind::Trickle),
            FaultKind::Terminate
            | FaultKind::CallerGone
            | FaultKind::ServerKill
            | FaultKind::ServerStop
            | FaultKind::LockTimeout
            | FaultKind::StatementTimeout
            | FaultKind::IdleTimeout
            | FaultKind::Serialization
            | FaultKind::Deadlock
            | FaultKind::DiskFull => None,
        }
    }

    /// Whether another transaction is to get in the operation's way.
    pub(super) fn is_contest(self) -> bool {
        let by_itself = matches!(self.kind, FaultKind::IdleTimeout | FaultKind::DiskFull);
        self.changes_settings() && !by_itself
    }

    /// Whether the operation needs a session with other settings.
    pub(super) fn changes_settings(self) -> bool {
        !settings(self.kind).is_empty()
    }

    /// What a line is armed with: the fault, or else that it holds what is under way, so that
    /// the fault can be done meanwhile.
    pub(super) fn armed(self) -> Option<WireFault> {
        let kind = self.wire_kind().unwrap_or(Kind::Delay(None));
        Some(WireFault { place: self.place()?, kind })
    }

    /// The deadline of the operation: a short one where it waits in vain.
    pub(super) fn deadline(self, given: Duration) -> Duration {
        match self.kind {
            FaultKind::BlackHole => given.min(SHORT),
            FaultKind::Delay if self.is_on_the_wire() => given.min(SHORT),
            // The settings of its session are for this one.
            _ if self.changes_settings() => Scope::default().deadline,
            _ => given,
        }
    }

    /// Whether the commit was carried out, as far as it follows from where the fault was done
    /// and from what the line has seen.
    pub(super) fn applied(self, seen: Option<&WireReceipt>) -> Option<bool> {
        match self.point {
            // The connection ended before anything of the commit was on its way.
            _ if self.wire_kind().is_none() && self.point <= Point::CommitSent => Some(false),
            _ => seen.and_then(carried_out),
        }
    }
}

/// What a line knows of the commit.
fn carried_out(seen: &WireReceipt) -> Option<bool> {
    match (seen.commit, &seen.answer) {
        (Commit::NotSent | Commit::NotDelivered, _) => Some(false),
        (Commit::Delivered, Some(answer)) => Some(Answer::has_effect(answer)),
        (Commit::Delivered, None) | (Commit::Held, _) => None,
    }
}

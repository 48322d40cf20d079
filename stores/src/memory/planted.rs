//! Planted races: operations in two halves, each of them atomic, and not both together.
//!
//! The first half decides, on a copy of what is there; then others get a chance; and the
//! second half writes its part of the copy back, whatever was written meanwhile.

use std::collections::BTreeMap;
use std::sync::Mutex;

use stagefault_models::{
    ExpiredCall, Id, Millis, Operation, Point, Refusal, Reply, Scope, Shared, Snapshot,
};

use super::record::Record;
use super::sweep::{Removed, clean, expire};
use super::{Answer, Stripes, lock};
use crate::flaws::{Flaw, Flaws};

/// Whether the operation is one that a planted flaw takes apart.
pub(super) fn is_in_halves(flaws: &Flaws, operation: &Operation) -> bool {
    if flaws.are_none() {
        return false;
    }
    let flaw = match operation {
        Operation::CreateSession { .. } => Flaw::CreateChecksFirst,
        Operation::Load { .. } => Flaw::LoadInParts,
        Operation::Stage(_) => Flaw::StageChecksFirst,
        Operation::Discard { .. } => Flaw::DiscardCountsFirst,
        Operation::Promote(_) => Flaw::PromoteChecksFirst,
        Operation::AppendMessages { .. } => Flaw::AppendChecksFirst,
        Operation::CompareAndSetStatus { .. } => Flaw::StatusComparedFirst,
        Operation::BeginRun { .. } => Flaw::RunsCountedFirst,
        Operation::ConsumeInterrupt { .. } => Flaw::InterruptSeenFirst,
        Operation::RegisterCall { .. } => Flaw::RegisterChecksFirst,
        Operation::SubmitResult { .. } => Flaw::SubmitChecksFirst,
        _ => return false,
    };
    flaws.has(flaw)
}

impl Stripes {
    /// Executes an operation on one session in two halves.
    pub(super) async fn in_halves(&self, operation: &Operation, scope: &Scope<'_>) -> Answer {
        let Some(id) = operation.session() else { return Err(Refusal::SessionNotFound) };
        if let Operation::CreateSession { expires_at, .. } = operation {
            if let Some(record) = self.stripe(id).get(id) {
                return Err(Refusal::SessionExists { version: record.seen.version });
            }
            scope.reach(Point::Statement(1)).await;
            self.stripe(id).insert(id.clone(), Record::new(*expires_at));
            return Ok(Reply::Created { version: 1 });
        }
        let mut copy = self.stripe(id).get(id).cloned().ok_or(Refusal::SessionNotFound)?;
        let reply = copy.execute(operation, &self.flaws)?;
        scope.reach(Point::Statement(1)).await;
        let mut stripe = self.stripe(id);
        let record = stripe.get_mut(id).ok_or(Refusal::SessionNotFound)?;
        if let Reply::Snapshot(first) = reply {
            return Ok(record.second_half_of(first));
        }
        record.write_back(operation, copy);
        Ok(reply)
    }

    /// With [`Flaw::ExpiryListsFirst`].
    pub(super) async fn expire_listed(
        &self,
        stripe: &Mutex<BTreeMap<Id, Record>>,
        now: Millis,
        expired: &mut Vec<ExpiredCall>,
        scope: &Scope<'_>,
    ) {
        let (mut copy, mut listed) = (lock(stripe).clone(), Vec::new());
        expire(&mut copy, now, &self.flaws, &mut listed);
        if listed.is_empty() {
            return;
        }
        scope.reach(Point::Statement(1)).await;
        for (id, record) in lock(stripe).iter_mut() {
            if listed.iter().any(|call| call.session == *id)
                && let Some(copy) = copy.get(id)
            {
                record.seen.calls = copy.seen.calls.clone();
            }
        }
        expired.extend(listed);
    }

    /// With [`Flaw::CleanupListsFirst`] or [`Flaw::StagingListedFirst`].
    pub(super) async fn clean_listed(
        &self,
        stripe: &Mutex<BTreeMap<Id, Record>>,
        now: Millis,
        staging_ttl: Millis,
        removed: &mut Removed,
        scope: &Scope<'_>,
    ) {
        let (mut copy, mut listed) = (lock(stripe).clone(), Removed::default());
        clean(&mut copy, now, staging_ttl, &self.flaws, &mut listed);
        if listed.sessions.is_empty() && listed.staged.is_empty() {
            return;
        }
        scope.reach(Point::Statement(1)).await;
        let mut records = lock(stripe);
        if self.flaws.has(Flaw::CleanupListsFirst) {
            listed.sessions.retain(|id| records.remove(id).is_some());
            clean(&mut records, now, staging_ttl, &self.flaws, removed);
            removed.sessions.extend(listed.sessions);
            return;
        }
        for (id, record) in records.iter_mut() {
            if listed.staged.iter().any(|staged| staged.session == *id)
                && let Some(copy) = copy.get(id)
            {
                record.seen.staged = copy.seen.staged.clone();
                record.staged_changes = copy.staged_changes.clone();
                let of_it = |staged: &&_| is_of(id, staged);
                removed.staged.extend(listed.staged.iter().filter(of_it).cloned());
            }
        }
        clean(&mut records, now, staging_ttl, &self.flaws, removed);
    }
}

fn is_of(id: &Id, staged: &stagefault_models::CleanedStaging) -> bool {
    staged.session == *id
}

impl Record {
    /// Writes back the part that the operation is about.
    fn write_back(&mut self, operation: &Operation, copy: Record) {
        let seen = copy.seen.into_inner();
        match operation {
            Operation::Stage(stage) => self.put_staged(stage),
            Operation::Discard { step, .. } => {
                self.clear_staged(step);
            }
            Operation::Promote(promote) => {
                self.clear_staged(&promote.step);
                self.messages = copy.messages;
                self.seen.version = seen.version;
                self.seen.status = seen.status;
                self.seen.state = seen.state;
                self.seen.message_count = seen.message_count;
                self.seen.last_step = seen.last_step;
            }
            Operation::AppendMessages { .. } => {
                self.messages = copy.messages;
                self.seen.message_count = seen.message_count;
            }
            Operation::CompareAndSetStatus { .. } => {
                self.seen.version = seen.version;
                self.seen.status = seen.status;
            }
            Operation::BeginRun { .. } => self.seen.runs = seen.runs,
            Operation::ConsumeInterrupt { .. } => self.seen.interrupt = seen.interrupt,
            Operation::RegisterCall { .. } | Operation::SubmitResult { .. } => {
                self.seen.calls = seen.calls;
            }
            _ => {}
        }
    }

    /// A load of which the head was read before, and what hangs on it is read now.
    fn second_half_of(&self, first: Shared<Snapshot>) -> Reply {
        let now = Snapshot::clone(&self.seen);
        let (message_count, staged) = (now.message_count, now.staged);
        let mixed = Snapshot { message_count, staged, calls: now.calls, ..first.into_inner() };
        Reply::Snapshot(mixed.into())
    }
}

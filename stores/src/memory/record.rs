//! A session as the memory store keeps it, and the operations within one session.

use std::sync::Arc;

use litemap::LiteMap;
use stagefault_models::audit::{RawHead, RawSession};
use stagefault_models::model::Staged;
use stagefault_models::{
    Change, Id, Message, Millis, Operation, Promote, Refusal, Reply, Shared, Snapshot, Stage,
    Status, Value,
};

use super::Answer;
use crate::flaws::{Flaw, Flaws};
use crate::merge::merge;

/// One session.
#[derive(Clone)]
pub(super) struct Record {
    /// What `Load` shows, which it answers by sharing it.
    pub(super) seen: Shared<Snapshot>,
    pub(super) messages: Vec<Message>,
    /// Of each staged call that is shown, its changes.
    pub(super) staged_changes: Vec<Arc<[Change]>>,
}

impl Record {
    pub(super) fn new(expires_at: Option<Millis>) -> Self {
        let seen = Snapshot {
            version: 1,
            status: Status::Active,
            state: LiteMap::new(),
            message_count: 0,
            staged: Vec::new(),
            calls: LiteMap::new(),
            runs: Vec::new(),
            interrupt: false,
            expires_at,
            last_step: None,
        };
        Record { seen: seen.into(), messages: Vec::new(), staged_changes: Vec::new() }
    }

    pub(super) fn execute(&mut self, operation: &Operation, flaws: &Flaws) -> Answer {
        match operation {
            Operation::Load { .. } => Ok(Reply::Snapshot(self.seen.clone())),
            Operation::ReadMessages { offset, limit, .. } => Ok(self.page(*offset, *limit)),
            Operation::Touch { expires_at, .. } => {
                if expires_at.is_some() || !flaws.has(Flaw::ExpiryNotCleared) {
                    self.seen.expires_at = *expires_at;
                }
                Ok(Reply::Touched)
            }
            Operation::Stage(stage) => self.stage(stage, flaws),
            Operation::Discard { step, .. } => {
                Ok(Reply::Discarded { calls: self.clear_staged(step) })
            }
            Operation::Promote(promote) => self.promote(promote, flaws),
            Operation::AppendMessages { messages, .. } => self.append(messages, flaws),
            Operation::CompareAndSetStatus { from, to, .. } => self.set_status(from, *to, flaws),
            Operation::BeginRun { run, .. } => Ok(self.begin_run(run)),
            Operation::RequestInterrupt { .. } => {
                self.seen.interrupt = true;
                Ok(Reply::InterruptRequested)
            }
            Operation::ConsumeInterrupt { .. } => {
                let taken = self.seen.interrupt;
                self.seen.interrupt = taken && flaws.has(Flaw::InterruptNotCleared);
                Ok(Reply::Interrupt { taken })
            }
            Operation::RegisterCall { call, run, deadline, .. } => {
                self.register_call(call, run, *deadline, flaws)
            }
            Operation::SubmitResult { call, run, result, now, .. } => {
                self.submit_result(call, run, result, *now, flaws)
            }
            Operation::CreateSession { .. }
            | Operation::DeleteSession { .. }
            | Operation::ExpireCalls { .. }
            | Operation::Cleanup { .. } => unreachable!("these are about the map of sessions"),
        }
    }

    fn page(&self, offset: u64, limit: u64) -> Reply {
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let messages = self.messages.iter().skip(skipped).take(limit as usize).cloned().collect();
        Reply::Page { messages, total: self.messages.len() as u64 }
    }

    fn stage(&mut self, stage: &Stage, flaws: &Flaws) -> Answer {
        self.refuse_closed(&stage.step, flaws)?;
        if !(flaws.has(Flaw::FirstStageKept) && self.holds_staged(stage)) {
            self.put_staged(stage);
        }
        Ok(Reply::Staged)
    }

    fn refuse_closed(&self, step: &Id, flaws: &Flaws) -> Result<(), Refusal> {
        match &self.seen.last_step {
            Some(last) if last == step && !flaws.has(Flaw::StepNotClosed) => {
                Err(Refusal::StepClosed)
            }
            _ => Ok(()),
        }
    }

    fn promote(&mut self, promote: &Promote, flaws: &Flaws) -> Answer {
        self.refuse_closed(&promote.step, flaws)?;
        if self.seen.version != promote.expected && !flaws.has(Flaw::VersionNotChecked) {
            let (expected, current) = (promote.expected, self.seen.version);
            return Err(Refusal::StaleState { expected, current });
        }
        let fresh = self.fresh(&promote.messages, flaws);
        if fresh.is_err() && flaws.has(Flaw::ChangesBeforeMessageConflict) {
            self.seen.state = self.merged(promote, flaws)?;
        }
        let (fresh, state) = (fresh?, self.merged(promote, flaws)?);

        let appended = self.add(fresh);
        let applied = if flaws.has(Flaw::StagingNotCleared) {
            self.count_staged(&promote.step)
        } else {
            self.clear_staged(&promote.step)
        };
        let seen = &mut *self.seen;
        if flaws.has(Flaw::OtherStagingCleared) {
            seen.staged.clear();
            self.staged_changes.clear();
        }
        seen.version += 1;
        seen.state = state;
        seen.status = promote.status.unwrap_or(seen.status);
        seen.last_step = Some(promote.step.clone());
        Ok(Reply::Promoted { version: seen.version, applied, appended })
    }

    /// The state with the promote's changes and then the step's staged ones applied.
    fn merged(&self, promote: &Promote, flaws: &Flaws) -> Result<LiteMap<Id, Value>, Refusal> {
        let changes = promote.changes.iter().chain(self.changes_of(&promote.step, flaws));
        let mut state = self.seen.state.clone();
        match merge(&mut state, changes) {
            Ok(()) => Ok(state),
            Err(key) => Err(Refusal::MergeConflict { key }),
        }
    }

    fn append(&mut self, messages: &[Message], flaws: &Flaws) -> Answer {
        let fresh = self.fresh(messages, flaws)?;
        let appended = self.add(fresh);
        Ok(Reply::Appended { appended, total: self.seen.message_count })
    }

    /// The messages that the session does not hold yet, each once.
    fn fresh(&self, messages: &[Message], flaws: &Flaws) -> Result<Vec<Message>, Refusal> {
        let mut fresh: Vec<Message> = Vec::with_capacity(messages.len());
        for message in messages {
            let known = self.messages.iter().chain(&fresh).find(|known| known.id == message.id);
            match known {
                Some(known) if known.body != message.body => {
                    return Err(Refusal::MessageConflict { id: message.id.clone() });
                }
                Some(_) if !flaws.has(Flaw::AppendNotIdempotent) => {}
                _ => fresh.push(message.clone()),
            }
        }
        Ok(fresh)
    }

    /// Adds the messages and counts them.
    fn add(&mut self, fresh: Vec<Message>) -> u64 {
        let added = fresh.len() as u64;
        if added > 0 {
            self.messages.extend(fresh);
            self.seen.message_count += added;
        }
        added
    }

    fn set_status(&mut self, from: &[Status], to: Status, flaws: &Flaws) -> Answer {
        let (status, version) = (self.seen.status, self.seen.version);
        if !from.contains(&status) && !flaws.has(Flaw::StatusNotCompared) {
            return Err(Refusal::StatusMismatch { status, version });
        }
        let seen = &mut *self.seen;
        seen.status = to;
        seen.version += 1;
        Ok(Reply::StatusSet { version: seen.version })
    }

    fn begin_run(&mut self, run: &Id) -> Reply {
        let turn = match self.seen.runs.iter().position(|known| known == run) {
            Some(place) => place + 1,
            None => {
                self.seen.runs.push(run.clone());
                self.seen.runs.len()
            }
        };
        Reply::RunBegun { turn: turn as u64 }
    }

    /// The rows that an audit reads.
    pub(super) fn raw(&self) -> RawSession {
        let staged = self.seen.staged.iter().zip(&self.staged_changes).map(|(mark, changes)| {
            let staged = Staged { at: mark.at, changes: changes.clone() };
            ((mark.step.clone(), mark.call.clone()), staged)
        });
        RawSession {
            head: Some(RawHead { version: self.seen.version, state: self.seen.state.clone() }),
            messages: (0..).zip(self.messages.iter().cloned()).collect(),
            staged: staged.collect(),
            calls: self.seen.calls.clone(),
            runs: (1..).zip(self.seen.runs.iter().cloned()).collect(),
        }
    }
}

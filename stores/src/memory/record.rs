//! A session as the memory store keeps it, and the operations within one session.

use std::collections::BTreeMap;

use litemap::LiteMap;
use stagefault_models::audit::{RawHead, RawSession};
use stagefault_models::{
    Call, Id, Message, Millis, Operation, Promote, Refusal, Reply, Shared, Snapshot, Stage, Status,
    Value, Version,
};

use super::Answer;
use super::staging::Staging;
use crate::flaws::{Flaw, Flaws};
use crate::merge::merge;

/// One session, with nothing derived in it that could fall out of step.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) version: Version,
    pub(super) status: Status,
    pub(super) state: Shared<LiteMap<Id, Value>>,
    pub(super) messages: Vec<Message>,
    pub(super) staging: Staging,
    pub(super) calls: Shared<LiteMap<Id, Call>>,
    pub(super) runs: Shared<Vec<Id>>,
    pub(super) interrupt: bool,
    pub(super) expires_at: Option<Millis>,
    pub(super) last_step: Option<Id>,
}

impl Record {
    pub(super) fn new(expires_at: Option<Millis>) -> Self {
        Record {
            version: 1,
            status: Status::Active,
            state: Shared::default(),
            messages: Vec::new(),
            staging: Staging::default(),
            calls: Shared::default(),
            runs: Shared::default(),
            interrupt: false,
            expires_at,
            last_step: None,
        }
    }

    pub(super) fn execute(&mut self, operation: &Operation, flaws: &Flaws) -> Answer {
        match operation {
            Operation::Load { .. } => Ok(Reply::Snapshot(Box::new(self.snapshot()))),
            Operation::ReadMessages { offset, limit, .. } => Ok(self.page(*offset, *limit)),
            Operation::Touch { expires_at, .. } => {
                if expires_at.is_some() || !flaws.has(Flaw::ExpiryNotCleared) {
                    self.expires_at = *expires_at;
                }
                Ok(Reply::Touched)
            }
            Operation::Stage(stage) => self.stage(stage, flaws),
            Operation::Discard { step, .. } => {
                Ok(Reply::Discarded { calls: self.staging.clear(step) })
            }
            Operation::Promote(promote) => self.promote(promote, flaws),
            Operation::AppendMessages { messages, .. } => self.append(messages, flaws),
            Operation::CompareAndSetStatus { from, to, .. } => self.set_status(from, *to, flaws),
            Operation::BeginRun { run, .. } => Ok(self.begin_run(run)),
            Operation::RequestInterrupt { .. } => {
                self.interrupt = true;
                Ok(Reply::InterruptRequested)
            }
            Operation::ConsumeInterrupt { .. } => {
                let taken = self.interrupt;
                self.interrupt = taken && flaws.has(Flaw::InterruptNotCleared);
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

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            version: self.version,
            status: self.status,
            state: self.state.clone(),
            message_count: self.messages.len() as u64,
            staged: self.staging.marks().clone(),
            calls: self.calls.clone(),
            runs: self.runs.clone(),
            interrupt: self.interrupt,
            expires_at: self.expires_at,
            last_step: self.last_step.clone(),
        }
    }

    fn page(&self, offset: u64, limit: u64) -> Reply {
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let messages = self.messages.iter().skip(skipped).take(limit as usize).cloned().collect();
        Reply::Page { messages, total: self.messages.len() as u64 }
    }

    fn stage(&mut self, stage: &Stage, flaws: &Flaws) -> Answer {
        self.refuse_closed(&stage.step, flaws)?;
        if !(flaws.has(Flaw::FirstStageKept) && self.staging.holds(stage)) {
            self.staging.put(stage);
        }
        Ok(Reply::Staged)
    }

    fn refuse_closed(&self, step: &Id, flaws: &Flaws) -> Result<(), Refusal> {
        match &self.last_step {
            Some(last) if last == step && !flaws.has(Flaw::StepNotClosed) => {
                Err(Refusal::StepClosed)
            }
            _ => Ok(()),
        }
    }

    fn promote(&mut self, promote: &Promote, flaws: &Flaws) -> Answer {
        self.refuse_closed(&promote.step, flaws)?;
        if self.version != promote.expected && !flaws.has(Flaw::VersionNotChecked) {
            let (expected, current) = (promote.expected, self.version);
            return Err(Refusal::StaleState { expected, current });
        }
        let fresh = self.fresh(&promote.messages, flaws);
        if fresh.is_err() && flaws.has(Flaw::ChangesBeforeMessageConflict) {
            self.state = self.merged(promote, flaws)?.into();
        }
        let (fresh, state) = (fresh?, self.merged(promote, flaws)?);

        self.version += 1;
        self.state = state.into();
        if let Some(status) = promote.status {
            self.status = status;
        }
        let applied = if flaws.has(Flaw::StagingNotCleared) {
            self.staging.count(&promote.step)
        } else {
            self.staging.clear(&promote.step)
        };
        if flaws.has(Flaw::OtherStagingCleared) {
            self.staging = Staging::default();
        }
        self.last_step = Some(promote.step.clone());
        let appended = fresh.len() as u64;
        self.messages.extend(fresh);
        Ok(Reply::Promoted { version: self.version, applied, appended })
    }

    /// The state with the promote's changes and then the step's staged ones applied.
    fn merged(&self, promote: &Promote, flaws: &Flaws) -> Result<LiteMap<Id, Value>, Refusal> {
        let changes = promote.changes.iter().chain(self.staging.changes_of(&promote.step, flaws));
        let mut state = LiteMap::clone(&self.state);
        match merge(&mut state, changes) {
            Ok(()) => Ok(state),
            Err(key) => Err(Refusal::MergeConflict { key }),
        }
    }

    fn append(&mut self, messages: &[Message], flaws: &Flaws) -> Answer {
        let fresh = self.fresh(messages, flaws)?;
        let appended = fresh.len() as u64;
        self.messages.extend(fresh);
        Ok(Reply::Appended { appended, total: self.messages.len() as u64 })
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

    fn set_status(&mut self, from: &[Status], to: Status, flaws: &Flaws) -> Answer {
        let (status, version) = (self.status, self.version);
        if !from.contains(&status) && !flaws.has(Flaw::StatusNotCompared) {
            return Err(Refusal::StatusMismatch { status, version });
        }
        self.status = to;
        self.version += 1;
        Ok(Reply::StatusSet { version: self.version })
    }

    fn begin_run(&mut self, run: &Id) -> Reply {
        let turn = match self.runs.iter().position(|known| known == run) {
            Some(place) => place + 1,
            None => {
                self.runs.push(run.clone());
                self.runs.len()
            }
        };
        Reply::RunBegun { turn: turn as u64 }
    }

    /// The rows that an audit reads.
    pub(super) fn raw(&self) -> RawSession {
        let state: BTreeMap<_, _> =
            self.state.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let staged = self.staging.iter().map(|(mark, changes)| {
            ((mark.step.clone(), mark.call.clone()), (mark.at, changes.to_vec()))
        });
        RawSession {
            head: Some(RawHead { version: self.version, state }),
            messages: (0..).zip(self.messages.iter().cloned()).collect(),
            staged: staged.collect(),
            calls: self.calls.iter().map(|(id, call)| (id.clone(), call.clone())).collect(),
            runs: (1..).zip(self.runs.iter().cloned()).collect(),
        }
    }
}

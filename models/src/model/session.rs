//! The state of one session, as the contract's section on session state lists it.

use std::sync::Arc;

use litemap::LiteMap;

use crate::{Call, Change, Id, Message, Millis, Snapshot, StagedMark, Status, Value, Version};

/// The state of the session of one id: there or not. It is what one operation acts on,
/// and what a history is partitioned by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionState {
    /// The session's id, also while there is no session.
    pub id: Id,
    /// The session, if there is one.
    pub session: Option<Box<Session>>,
}

impl SessionState {
    /// No session yet under this id.
    pub fn absent(id: Id) -> Self {
        SessionState { id, session: None }
    }
}

/// A session that exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the contract's own words")]
pub struct Session {
    pub version: Version,
    pub status: Status,
    pub state: LiteMap<Id, Value>,
    pub messages: Vec<Message>,
    /// By (step, call).
    pub staged: LiteMap<(Id, Id), Staged>,
    pub calls: LiteMap<Id, Call>,
    pub runs: Vec<Id>,
    pub interrupt: bool,
    pub expires_at: Option<Millis>,
    pub last_step: Option<Id>,
}

/// What one tool call staged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the contract's own words")]
pub struct Staged {
    pub at: Millis,
    pub changes: Arc<[Change]>,
}

impl Session {
    /// A session as `CreateSession` leaves it.
    pub fn created(expires_at: Option<Millis>) -> Self {
        Session {
            version: 1,
            status: Status::Active,
            state: LiteMap::new(),
            messages: Vec::new(),
            staged: LiteMap::new(),
            calls: LiteMap::new(),
            runs: Vec::new(),
            interrupt: false,
            expires_at,
            last_step: None,
        }
    }

    /// What `Load` shows of the session.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            version: self.version,
            status: self.status,
            state: self.state.clone(),
            message_count: self.messages.len() as u64,
            staged: self.marks().collect(),
            calls: self.calls.clone(),
            runs: self.runs.clone(),
            interrupt: self.interrupt,
            expires_at: self.expires_at,
            last_step: self.last_step.clone(),
        }
    }

    /// Whether `snapshot` is what `Load` shows, told without building one.
    pub fn agrees_with(&self, snapshot: &Snapshot) -> bool {
        let staged = || self.staged.iter().map(|((step, call), staged)| (step, call, staged.at));
        self.version == snapshot.version
            && self.status == snapshot.status
            && self.messages.len() as u64 == snapshot.message_count
            && self.interrupt == snapshot.interrupt
            && self.expires_at == snapshot.expires_at
            && self.last_step == snapshot.last_step
            && snapshot.state == self.state
            && staged().eq(snapshot.staged.iter().map(|mark| (&mark.step, &mark.call, mark.at)))
            && snapshot.calls == self.calls
            && snapshot.runs == self.runs
    }

    fn marks(&self) -> impl Iterator<Item = StagedMark> {
        self.staged.iter().map(|((step, call), staged)| StagedMark {
            step: step.clone(),
            call: call.clone(),
            at: staged.at,
        })
    }
}

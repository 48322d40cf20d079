//! Holding a store's raw rows against the model.
//!
//! An audit reads past the store's API, so it sees what no operation shows: rows of
//! sessions that are gone, gaps in positions, staging that outlived its promote.

use std::collections::BTreeMap;
use std::fmt;

use litemap::LiteMap;

use crate::invariants::Invariant;
use crate::model::{Session, Staged, StoreModel};
use crate::{Call, Id, Message, Value, Version};

/// The raw rows of some sessions.
pub type Audit = BTreeMap<Id, RawSession>;

/// All rows that bear one session's id, whether or not the session has a row of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawSession {
    /// The session's own row.
    pub head: Option<RawHead>,
    /// Messages by position, from 0.
    pub messages: Vec<(u64, Message)>,
    /// What is staged, by (step, call).
    pub staged: LiteMap<(Id, Id), Staged>,
    /// Client tool calls.
    pub calls: LiteMap<Id, Call>,
    /// Runs by turn, from 1.
    pub runs: Vec<(u64, Id)>,
}

/// A session's own row.
#[derive(Clone, Debug, PartialEq)]
pub struct RawHead {
    /// The version.
    pub version: Version,
    /// The promoted state.
    pub state: LiteMap<Id, Value>,
}

/// Something in a namespace that should not be so: a difference between the rows and the
/// model, or what a fault left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The session whose rows differ; none where it is about the namespace.
    pub session: Option<Id>,
    /// The invariant that is broken.
    pub invariant: Invariant,
    /// What is wrong, for a reader.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.session {
            Some(session) => write!(formatter, "rows of {session:?}: {}", self.text),
            None => formatter.write_str(&self.text),
        }
    }
}

/// Holds the rows against the model; an empty list says that they agree.
pub fn compare(model: &StoreModel, audit: &Audit) -> Vec<Finding> {
    let nothing = RawSession::default();
    let mut findings = Vec::new();
    for (id, session) in model.sessions() {
        let found = audit.get(id).unwrap_or(&nothing);
        let mut report = |invariant, text| {
            findings.push(Finding { session: Some(id.clone()), invariant, text });
        };
        match session {
            Some(session) => compare_session(session, found, &mut report),
            None if *found == nothing => {}
            None => {
                let text = format!("rows are left of a session that is gone: {found:?}");
                report(Invariant::Liveness, text);
            }
        }
    }
    findings
}

fn compare_session(
    session: &Session,
    found: &RawSession,
    report: &mut impl FnMut(Invariant, String),
) {
    let head = found.head.as_ref();
    let head =
        head.is_some_and(|head| head.version == session.version && head.state == session.state);
    let messages = (0..).zip(&session.messages);
    let messages = messages.eq(found.messages.iter().map(|(place, message)| (*place, message)));
    let staged = session.staged == found.staged;
    let calls = session.calls == found.calls;
    let runs = (1..).zip(&session.runs).eq(found.runs.iter().map(|(turn, run)| (*turn, run)));

    let mut part = |agree: bool, invariant, expected: &dyn fmt::Debug, found: &dyn fmt::Debug| {
        if !agree {
            report(invariant, format!("the model has {expected:?}, the rows are {found:?}"));
        }
    };
    part(head, Invariant::Atomicity, &(session.version, &session.state), &found.head);
    part(messages, Invariant::AppendIdempotency, &session.messages, &found.messages);
    part(staged, Invariant::StagingCleanup, &session.staged, &found.staged);
    part(calls, Invariant::CallLifecycle, &session.calls, &found.calls);
    part(runs, Invariant::Coordination, &session.runs, &found.runs);
}

//! What must hold of every operation, each invariant a file of its own.
//!
//! The model says what a store must answer; the invariants say why it matters. Each is
//! stated over one [`Observation`] (a session before and after one operation, and what
//! the caller was told), so it can be judged without asking the model for the answer. A
//! lane that finds a store disagreeing with the model asks them which one is broken, and
//! so gives the failure a name.

mod append_idempotency;
mod atomicity;
mod call_lifecycle;
mod coordination;
mod staging_cleanup;
mod version_monotonicity;

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::{Completion, Id, Message, Operation, Reply, Session, Snapshot};

/// A session that has only just been created.
static NEWBORN: LazyLock<Session> = LazyLock::new(|| Session::created(None));

/// A session before and after one operation, and what the caller was told of it.
///
/// A sweep is observed once for each session.
pub struct Observation<'a> {
    /// The session that was looked at.
    pub session: &'a Id,
    /// What was asked.
    pub operation: &'a Operation,
    /// What was answered.
    pub completion: &'a Completion,
    /// The session before, as everything until then established it; `None`: there was none.
    pub before: Option<&'a Session>,
    /// The session as it was read afterwards; `None`: there is none.
    pub after: Option<&'a Seen>,
}

/// All that a reader can see of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What `Load` shows.
    pub snapshot: Snapshot,
    /// What `ReadMessages` shows, from the first to the last.
    pub messages: Vec<Message>,
}

impl Observation<'_> {
    /// The reply, if the operation was done.
    fn reply(&self) -> Option<&Reply> {
        match self.completion {
            Completion::Done(reply) => Some(reply),
            _ => None,
        }
    }

    /// The session on both sides of the operation, if it lived through it.
    ///
    /// One that this very operation created counts as new and empty before: whatever else
    /// is seen of it was left behind by an earlier session of the same id.
    fn lived_through(&self) -> Option<(&Session, &Seen)> {
        let before = match (self.before, self.operation, self.reply()) {
            (None, Operation::CreateSession { .. }, Some(_)) => &NEWBORN,
            (before, ..) => before?,
        };
        Some((before, self.after?))
    }
}

/// The properties that the lanes exist to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invariant {
    /// A promote is seen whole or not at all, staging included; a refusal changes nothing.
    Atomicity,
    /// A version never falls or repeats; each success that moves it adds exactly one.
    VersionMonotonicity,
    /// No message id twice, order kept, nothing lost.
    AppendIdempotency,
    /// No staged row outlives its promote, discard, session or ttl, and none goes missing.
    StagingCleanup,
    /// Pending, then submitted or expired, once; a late submit never counts.
    CallLifecycle,
    /// Status compare-and-set, run list and interrupt flag linearize.
    Coordination,
    /// What a completion claims is so. The name of any difference that no other one names.
    Truth,
    /// What was acknowledged is there after the store was closed and opened again.
    Durability,
    /// Every operation completes, and nothing leaks.
    Liveness,
}

impl Invariant {
    /// Those that one observation can show broken, the more specific ones first.
    pub const OBSERVABLE: [Invariant; 6] = [
        Invariant::VersionMonotonicity,
        Invariant::AppendIdempotency,
        Invariant::StagingCleanup,
        Invariant::CallLifecycle,
        Invariant::Coordination,
        Invariant::Atomicity,
    ];

    /// How the observation breaks this invariant, in a sentence; `None` when it does not.
    pub fn breach(self, observation: &Observation<'_>) -> Option<String> {
        // An operation in doubt took effect or did not, and may do so between the two reads
        // that make one `Seen`; no single observation can tell that from a breach.
        if matches!(observation.completion, Completion::Unknown(_)) {
            return None;
        }
        match self {
            Invariant::Atomicity => atomicity::breach(observation),
            Invariant::VersionMonotonicity => version_monotonicity::breach(observation),
            Invariant::AppendIdempotency => append_idempotency::breach(observation),
            Invariant::StagingCleanup => staging_cleanup::breach(observation),
            Invariant::CallLifecycle => call_lifecycle::breach(observation),
            Invariant::Coordination => coordination::breach(observation),
            Invariant::Truth | Invariant::Durability | Invariant::Liveness => None,
        }
    }

    /// The first invariant that the observation breaks, and how.
    pub fn first_breach(observation: &Observation<'_>) -> Option<(Invariant, String)> {
        Invariant::OBSERVABLE
            .into_iter()
            .find_map(|invariant| Some((invariant, invariant.breach(observation)?)))
    }

    /// The invariant's name in reports, artifacts and test names.
    pub fn as_str(self) -> &'static str {
        match self {
            Invariant::Atomicity => "atomicity",
            Invariant::VersionMonotonicity => "version_monotonicity",
            Invariant::AppendIdempotency => "append_idempotency",
            Invariant::StagingCleanup => "staging_cleanup",
            Invariant::CallLifecycle => "call_lifecycle",
            Invariant::Coordination => "coordination",
            Invariant::Truth => "truth",
            Invariant::Durability => "durability",
            Invariant::Liveness => "liveness",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

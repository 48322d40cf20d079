//! The JSON documents of a concurrent run, beside its schedules, histories and journal.
//!
//! They share their names and versions with those of a sequential run, and hold more.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stagefault_chaos::torment::Available;
use stagefault_models::{FaultKind, Invariant, OperationKind};
use stagefault_properties::concurrent::{Faults, Fired, Judgement};
use stagefault_properties::profile::Profile;
use stagefault_properties::shrink::Hits;
use stagefault_properties::tally::Tally;
use stagefault_properties::violation::Violation;
use stagefault_stores::flaws::Flaw;

use super::coverage::Missing;
use super::journal::Seen;
use super::outcome::{Ending, Outcome};
use super::shard::Shard;
use super::signature::{Kind, Signature};
use crate::documents::{RunFormat, SummaryFormat, ViolationFormat, as_seconds};
use crate::stores::{Choice, StoreName};

/// `run.json`: all that the run depends on, so that it can be gone on with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneRun {
    pub format: RunFormat,
    /// The version of stagefault.
    pub version: String,
    /// The command and its arguments, without passwords.
    pub command: Vec<String>,
    pub lane: LaneName,
    pub store: StoreName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaw: Option<String>,
    pub profile: String,
    pub seed: u64,
    /// UTC, as in `2026-01-02T03:04:05Z`.
    pub started: String,
    pub writers: u32,
    /// What was done to connections and the server; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chaos: Option<Chaos>,
    pub shard: Shard,
    pub limit: Bound,
    pub max_failures: u64,
    /// The failures that do not fail the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Signature>,
}

/// What can be done to connections and the server of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chaos {
    /// Whether the server is one of our own, and is killed.
    pub server: bool,
    /// Whether connections are led through a proxy that can cut them.
    pub connection: bool,
}

impl From<Available> for Chaos {
    fn from(Available { server, connection }: Available) -> Self {
        Chaos { server, connection }
    }
}

impl Chaos {
    /// The same, as the store says it.
    pub fn available(self) -> Available {
        Available { server: self.server, connection: self.connection }
    }

    /// What is not done, and why, a line for each reason.
    pub fn lacks(self) -> Vec<String> {
        let available = self.available();
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for kind in FaultKind::ALL {
            let Some(why) = available.lacks(kind) else { continue };
            match reasons.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, kinds)) => kinds.push(format!("{kind:?}")),
                None => reasons.push((why, vec![format!("{kind:?}")])),
            }
        }
        let line =
            |(why, kinds): (&str, Vec<String>)| format!("without {}: {why}", kinds.join(", "));
        reasons.into_iter().map(line).collect()
    }
}

/// The lane's name as a type.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneName {
    Concurrent,
}

/// When the run ends by itself, at the end of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Operations(u64),
    Milliseconds(u64),
}

/// What `run.json` names and this build may not have.
pub struct Resolved {
    pub profile: &'static Profile,
    pub choice: Choice,
}

impl LaneRun {
    /// The profile and the flaw that are named, if this build has them.
    pub fn resolve(&self) -> Result<Resolved, String> {
        let profile = Profile::from_name(&self.profile)
            .ok_or_else(|| format!("this build has no profile {:?}", self.profile))?;
        let flaw = match &self.flaw {
            None => None,
            Some(name) => Some(
                Flaw::from_name(name).ok_or_else(|| format!("this build has no flaw {name:?}"))?,
            ),
        };
        let chaos = self.chaos.is_some();
        Ok(Resolved { profile, choice: Choice { store: self.store, flaw, chaos } })
    }

    /// Whether turns decide how operations overlap, so that episodes repeat with certainty.
    pub fn by_turns(&self) -> bool {
        self.store == StoreName::Memory
    }

    /// What the run is about, in a line.
    pub fn subject(&self) -> String {
        let flaw = self.flaw.as_ref().map(|flaw| format!(", flaw {flaw}")).unwrap_or_default();
        let chaos = self.chaos.map(|_| ", chaos").unwrap_or_default();
        let LaneRun { store, profile, seed, writers, .. } = self;
        format!("store {store}{flaw}{chaos}, profile {profile}, {writers} writers, seed {seed}")
    }
}

impl Bound {
    /// Where a run is on the way, and where that ends.
    pub fn progress(self, operations: u64, elapsed: Duration) -> (u64, u64) {
        match self {
            Bound::Operations(limit) => (operations.min(limit), limit),
            Bound::Milliseconds(limit) => {
                let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
                (elapsed.min(limit), limit)
            }
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Operations(limit) => write!(formatter, "{limit} operations"),
            Bound::Milliseconds(limit) => {
                let limit = Duration::from_millis(*limit);
                write!(formatter, "for {}", humantime::format_duration(limit))
            }
        }
    }
}

/// `failures/N/violation.json`: what was found, and then what shrinking made of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailureDocument {
    pub format: ViolationFormat,
    /// The folder's.
    pub number: u64,
    pub episode: u64,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant: Option<Invariant>,
    /// The place in the schedule of the operation that showed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationKind>,
    pub explanation: Vec<String>,
    pub recorded_operations: usize,
    /// Absent: it was not shrunk, or the run was killed before that had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrinking: Option<ShrinkingDocument>,
    /// The one command that replays it.
    pub replay: String,
}

/// What shrinking came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShrinkingDocument {
    /// How it went, in words.
    pub how: String,
    /// How many operations are left; absent: it was not seen again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<usize>,
    /// How often the shrunk schedule fails; absent: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<Hits>,
}

impl FailureDocument {
    pub fn signature(&self) -> Signature {
        Signature { kind: self.kind, invariant: self.invariant, operation: self.operation }
    }

    /// The violation, if one was decided.
    pub fn violation(&self) -> Option<Violation> {
        let FailureDocument { invariant, index, operation, explanation, .. } = self.clone();
        Some(Violation { invariant: invariant?, index, operation, explanation })
    }
}

/// The signature of a judgement, if it is not that the episode holds.
pub fn signature(judgement: &Judgement, kind: Kind) -> Option<Signature> {
    match judgement {
        Judgement::Holds { .. } => None,
        Judgement::Undecided(_) => {
            Some(Signature { kind: Kind::Undecided, invariant: None, operation: None })
        }
        Judgement::Violation(violation) => Some(Signature {
            kind,
            invariant: Some(violation.invariant),
            operation: violation.operation,
        }),
    }
}

/// `summary.json`, and what `--json` prints: how it went.
#[derive(Clone, Debug, Serialize)]
pub struct LaneSummary {
    pub format: SummaryFormat,
    pub outcome: Outcome,
    #[serde(flatten)]
    pub ending: Ending,
    pub lane: LaneName,
    pub store: StoreName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flaw: Option<String>,
    pub profile: String,
    pub seed: u64,
    pub started: String,
    pub writers: u32,
    /// Those that are in it.
    pub shards: Vec<Shard>,
    pub episodes: u64,
    /// The reads and deletions at the end of episodes included.
    pub operations: u64,
    /// Until the last episode was journaled; of several shards, all of theirs.
    #[serde(serialize_with = "as_seconds", rename = "seconds")]
    pub elapsed: Duration,
    pub operations_per_second: u64,
    /// Operation × completion, as counts that are not zero.
    pub completions: Tally,
    /// The injected faults that fired.
    pub faults: Faults,
    /// What was done for real: operation × point × kind, and what came of it.
    #[serde(skip_serializing_if = "Fired::is_empty")]
    pub real_faults: Fired,
    /// What was never seen, though the run was long enough.
    pub below_floor: Missing,
    pub failures: Vec<FailureDocument>,
    /// The failures that were known before.
    pub known: Vec<Seen>,
    /// The run's folder.
    pub artifacts: PathBuf,
}

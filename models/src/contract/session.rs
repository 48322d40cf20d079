//! What a session holds, in the parts that replies show.

use std::fmt;

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use super::{Id, Value};

/// Logical time in whole milliseconds, valid from 0 to 2^53 − 1. The contract has no clock.
pub type Millis = u64;

/// A session's version: 1 at creation, and one more with every promote and status change.
pub type Version = u64;

/// Where a session stands. The status gates no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The agent loop runs.
    Active,
    /// Waiting for a client tool call.
    SuspendedClientTool,
    /// Waiting for child sessions.
    SuspendedAwaitingChildren,
    /// Stopped in the middle of a step.
    SuspendedStepPartial,
    /// Stopped by request.
    Interrupted,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
}

impl Status {
    /// Every status, in the order of the contract.
    pub const ALL: [Status; 7] = [
        Status::Active,
        Status::SuspendedClientTool,
        Status::SuspendedAwaitingChildren,
        Status::SuspendedStepPartial,
        Status::Interrupted,
        Status::Completed,
        Status::Failed,
    ];

    /// The status's name in JSON and in the stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::SuspendedClientTool => "suspended_client_tool",
            Status::SuspendedAwaitingChildren => "suspended_awaiting_children",
            Status::SuspendedStepPartial => "suspended_step_partial",
            Status::Interrupted => "interrupted",
            Status::Completed => "completed",
            Status::Failed => "failed",
        }
    }

    /// The status of that name.
    pub fn from_name(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Unique within the session.
    pub id: Id,
    /// Anything.
    pub body: Value,
}

/// A client-executed tool call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The run that the call belongs to; only it may submit the result.
    pub run: Id,
    /// From this moment on a result no longer counts.
    pub deadline: Millis,
    /// Whether it was submitted or expired.
    pub state: CallState,
}

/// The life of a call: pending, then submitted or expired, once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CallState {
    /// Neither submitted nor expired.
    Pending,
    /// The client's result arrived in time.
    Submitted(Value),
    /// A sweep found it pending at or after its deadline.
    Expired,
}

/// One staged tool call without its changes, as [`Snapshot`] lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagedMark {
    /// The step that it is staged under.
    pub step: Id,
    /// The tool call that staged it.
    pub call: Id,
    /// When it was staged.
    pub at: Millis,
}

/// All of a session that `Load` shows: of messages the count, of staging no changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The version that a promote must expect.
    pub version: Version,
    /// Where the session stands.
    pub status: Status,
    /// The promoted state.
    #[serde(with = "object")]
    pub state: LiteMap<Id, Value>,
    /// How many messages the session holds.
    pub message_count: u64,
    /// What is staged, by (step, call).
    pub staged: Vec<StagedMark>,
    /// The client tool calls.
    #[serde(with = "object")]
    pub calls: LiteMap<Id, Call>,
    /// The runs, in the order in which they began.
    pub runs: Vec<Id>,
    /// Whether an interrupt is requested and not taken.
    pub interrupt: bool,
    /// When a cleanup may remove the session; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// The step promoted last; it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_step: Option<Id>,
}

/// A map as a JSON object and nothing else. `LiteMap`'s own form of an empty one is `[]`.
mod object {
    use std::collections::BTreeMap;

    use litemap::LiteMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Id;

    pub fn serialize<T: Serialize, S: Serializer>(
        map: &LiteMap<Id, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(map.iter())
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<LiteMap<Id, T>, D::Error> {
        Ok(BTreeMap::deserialize(deserializer)?.into_iter().collect())
    }
}

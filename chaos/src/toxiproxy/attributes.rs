//! What each kind of toxic can be told, in the names, units and defaults of Toxiproxy.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::ApiError;
use crate::proxy::{Kind, Place, WireFault};

/// The types of the toxics that Toxiproxy has too.
pub const STANDARD_TYPES: [&str; 7] =
    ["latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data"];

/// What a toxic does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attributes {
    Latency(Latency),
    Bandwidth(Bandwidth),
    SlowClose(SlowClose),
    Timeout(Timeout),
    ResetPeer(Timeout),
    Slicer(Slicer),
    LimitData(LimitData),
    PostgresCut(PostgresCut),
}

/// Everything is delayed, and comes in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Latency {
    /// In milliseconds.
    pub(super) latency: u64,
    /// By how many milliseconds more or less.
    pub(super) jitter: u64,
}

/// Only so much passes in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Bandwidth {
    /// In kilobytes (1,000 bytes) a second; 0 lets nothing pass.
    pub(super) rate: u64,
}

/// The end of the connection is delayed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SlowClose {
    /// In milliseconds.
    pub(super) delay: u64,
}

/// For `timeout`: nothing passes, and the connection is closed when nothing has come for this
/// time. For `reset_peer`: it is reset this long after something came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Timeout {
    /// In milliseconds; 0 of a `timeout`: it is not closed.
    pub(super) timeout: u64,
}

/// What comes is cut into small pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Slicer {
    /// In bytes.
    pub(super) average_size: u64,
    /// By how many bytes more or less.
    pub(super) size_variation: u64,
    /// Between two pieces, in microseconds.
    pub(super) delay: u64,
}

/// After so much the connection is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LimitData {
    /// In bytes, of this connection and direction.
    pub(super) bytes: u64,
}

/// A fault at a place of what a PostgreSQL client and its server say to each other. It fires
/// once, on the connection whose place comes first; an update arms it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PostgresCut {
    pub(super) place: CutPlace,
    /// For `before_statement` and `after_statement`: which one, from 1.
    pub(super) statement: u32,
    pub(super) kind: CutKind,
    /// Of a `delay`, in milliseconds; 0: until the toxic is deleted.
    pub(super) delay: u64,
}

/// Where a `postgres_cut` fires: see [`Place`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CutPlace {
    NextRequest,
    BeforeBegin,
    BeforeStatement,
    AfterStatement,
    CommitSent,
    #[default]
    CommitDelivered,
    MidReply,
}

/// What a `postgres_cut` does: see [`Kind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CutKind {
    #[default]
    Reset,
    Close,
    BlackHole,
    Delay,
    Truncate,
    Trickle,
}

impl PostgresCut {
    pub(super) fn fault(&self) -> WireFault {
        let place = match self.place {
            CutPlace::NextRequest => Place::Now,
            CutPlace::BeforeBegin => Place::BeforeBegin,
            CutPlace::BeforeStatement => Place::BeforeStatement(self.statement),
            CutPlace::AfterStatement => Place::AfterStatement(self.statement),
            CutPlace::CommitSent => Place::CommitSent,
            CutPlace::CommitDelivered => Place::CommitDelivered,
            CutPlace::MidReply => Place::MidReply,
        };
        let delay = (self.delay > 0).then(|| Duration::from_millis(self.delay));
        let kind = match self.kind {
            CutKind::Reset => Kind::Reset,
            CutKind::Close => Kind::Close,
            CutKind::BlackHole => Kind::BlackHole,
            CutKind::Delay => Kind::Delay(delay),
            CutKind::Truncate => Kind::Truncate,
            CutKind::Trickle => Kind::Trickle,
        };
        WireFault { place, kind }
    }
}

impl Attributes {
    /// The attributes of a new toxic of this type.
    pub(super) fn new(kind: &str, given: Option<&Value>) -> Result<Self, ApiError> {
        let none = match kind {
            "latency" => Attributes::Latency(Latency::default()),
            "bandwidth" => Attributes::Bandwidth(Bandwidth::default()),
            "slow_close" => Attributes::SlowClose(SlowClose::default()),
            "timeout" => Attributes::Timeout(Timeout::default()),
            "reset_peer" => Attributes::ResetPeer(Timeout::default()),
            "slicer" => Attributes::Slicer(Slicer::default()),
            "limit_data" => Attributes::LimitData(LimitData::default()),
            "postgres_cut" => Attributes::PostgresCut(PostgresCut::default()),
            _ => return Err(ApiError::invalid_toxic_type()),
        };
        none.updated(given)
    }

    /// The same with some of them changed.
    pub(super) fn updated(&self, given: Option<&Value>) -> Result<Self, ApiError> {
        let given = match given {
            None | Some(Value::Null) => &Map::new(),
            Some(Value::Object(given)) => given,
            Some(_) => return Err(ApiError::bad_request("attributes must be an object")),
        };
        let mut merged = self.to_map();
        merged.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
        let merged = Value::Object(merged);
        fn read<T: serde::de::DeserializeOwned>(merged: Value) -> Result<T, ApiError> {
            serde_json::from_value(merged)
                .map_err(|error| ApiError::bad_request(format_args!("attributes: {error}")))
        }
        let updated = match self {
            Attributes::Latency(_) => Attributes::Latency(read(merged)?),
            Attributes::Bandwidth(_) => Attributes::Bandwidth(read(merged)?),
            Attributes::SlowClose(_) => Attributes::SlowClose(read(merged)?),
            Attributes::Timeout(_) => Attributes::Timeout(read(merged)?),
            Attributes::ResetPeer(_) => Attributes::ResetPeer(read(merged)?),
            Attributes::Slicer(_) => Attributes::Slicer(read(merged)?),
            Attributes::LimitData(_) => Attributes::LimitData(read(merged)?),
            Attributes::PostgresCut(_) => Attributes::PostgresCut(read(merged)?),
        };
        updated.validate()?;
        Ok(updated)
    }

    fn validate(&self) -> Result<(), ApiError> {
        let problem = match self {
            Attributes::Slicer(slicer) if slicer.average_size == 0 => {
                "average_size must be at least 1"
            }
            Attributes::Slicer(slicer) if slicer.size_variation > slicer.average_size => {
                "size_variation must not be more than average_size"
            }
            Attributes::PostgresCut(cut)
                if matches!(cut.place, CutPlace::BeforeStatement | CutPlace::AfterStatement)
                    && cut.statement == 0 =>
            {
                "statement must say which one, from 1"
            }
            _ => return Ok(()),
        };
        Err(ApiError::bad_request(problem))
    }

    /// As JSON.
    pub(super) fn to_map(&self) -> Map<String, Value> {
        fn write(attributes: &impl Serialize) -> Map<String, Value> {
            match serde_json::to_value(attributes) {
                Ok(Value::Object(map)) => map,
                _ => unreachable!("attributes are structs of numbers and names"),
            }
        }
        match self {
            Attributes::Latency(it) => write(it),
            Attributes::Bandwidth(it) => write(it),
            Attributes::SlowClose(it) => write(it),
            Attributes::Timeout(it) | Attributes::ResetPeer(it) => write(it),
            Attributes::Slicer(it) => write(it),
            Attributes::LimitData(it) => write(it),
            Attributes::PostgresCut(it) => write(it),
        }
    }
}

//! A toxic, as a client writes it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::attributes::Attributes;
use super::error::{ApiError, read_object};

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the client to the server.
    Upstream,
    /// From the server to the client.
    Downstream,
}

impl Direction {
    fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "upstream" => Some(Direction::Upstream),
            "downstream" => Some(Direction::Downstream),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Direction::Upstream => "upstream",
            Direction::Downstream => "downstream",
        }
    }
}

/// A toxic of a proxy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Toxic {
    /// Tells it from one of the same name that was there before.
    pub(super) id: u64,
    /// How often it was changed.
    pub(super) revision: u64,
    pub(super) name: String,
    /// The type, by its name.
    kind: String,
    pub(super) direction: Direction,
    /// Which share of the connections it is put on, from 0 to 1.
    pub(super) toxicity: f32,
    pub(super) attributes: Attributes,
}

/// What a client writes of a new toxic.
#[derive(Debug, Deserialize)]
struct New {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    stream: Option<String>,
    #[serde(default)]
    toxicity: Option<f32>,
    #[serde(default)]
    attributes: Option<Value>,
}

/// What a client writes of one that is there.
#[derive(Debug, Deserialize)]
struct Update {
    #[serde(default)]
    toxicity: Option<f32>,
    #[serde(default)]
    attributes: Option<Value>,
}

impl Toxic {
    /// Reads what a client wrote.
    pub(super) fn read(id: u64, body: &[u8]) -> Result<Self, ApiError> {
        let new: New = read_object(body)?;
        let stream = new.stream.as_deref().unwrap_or("downstream");
        let direction = Direction::from_name(stream).ok_or_else(ApiError::invalid_stream)?;
        let attributes = Attributes::new(&new.kind, new.attributes.as_ref())?;
        let usual = || format!("{}_{}", new.kind, direction.name());
        let name = new.name.filter(|name| !name.is_empty()).unwrap_or_else(usual);
        let toxicity = new.toxicity.unwrap_or(1.0);
        Ok(Toxic { id, revision: 0, name, kind: new.kind, direction, toxicity, attributes })
    }

    /// The same with the changes that a client wrote.
    pub(super) fn updated(&self, body: &[u8]) -> Result<Self, ApiError> {
        let update: Update = read_object(body)?;
        Ok(Toxic {
            revision: self.revision + 1,
            toxicity: update.toxicity.unwrap_or(self.toxicity),
            attributes: self.attributes.updated(update.attributes.as_ref())?,
            ..self.clone()
        })
    }

    /// Whether it is one that reads the protocol.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self.attributes, Attributes::PostgresCut(_))
    }

    /// Whether it is put on a connection: a toss each time.
    pub(super) fn applies(&self) -> bool {
        rand::random::<f32>() < self.toxicity
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "attributes": self.attributes.to_map(),
            "name": self.name,
            "type": self.kind,
            "stream": self.direction.name(),
            "toxicity": self.toxicity,
        })
    }
}

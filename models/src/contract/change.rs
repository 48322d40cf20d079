//! Changes to a session's state: what a tool call stages and a promote applies.

use serde::{Deserialize, Serialize};

use super::{Id, Value};

/// One change to one key of a session's state. Each works on the result of the one before.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Change {
    /// Gives the key this value.
    Set {
        /// The key.
        key: Id,
        /// Its new value.
        value: Value,
    },
    /// Takes the key away; nothing happens when it is absent.
    Remove {
        /// The key.
        key: Id,
    },
    /// Appends the items to the key's array; an absent key counts as an empty array.
    Append {
        /// The key.
        key: Id,
        /// What is appended, possibly nothing.
        items: Vec<Value>,
    },
    /// Adds to the key's integer; an absent key counts as 0.
    Increment {
        /// The key.
        key: Id,
        /// What is added.
        by: i64,
    },
}

impl Change {
    /// The key that the change touches.
    pub fn key(&self) -> &Id {
        match self {
            Change::Set { key, .. }
            | Change::Remove { key }
            | Change::Append { key, .. }
            | Change::Increment { key, .. } => key,
        }
    }
}

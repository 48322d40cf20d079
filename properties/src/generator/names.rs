//! The names and values that a generator chooses from: few, so that they collide, and
//! some of them awkward.

use std::sync::Arc;

use stagefault_models::contract::MAX_VALUE_BYTES;
use stagefault_models::{Id, Value};

use crate::profile::Profile;

/// Pools of names, shared by all episodes but for the sessions.
pub(super) struct Names {
    pub(super) sessions: Vec<Id>,
    pub(super) steps: Vec<Id>,
    pub(super) calls: Vec<Id>,
    pub(super) runs: Vec<Id>,
    pub(super) keys: Vec<Id>,
    pub(super) strings: Vec<Arc<str>>,
    /// Keys inside values, which may be what ids may not.
    pub(super) members: Vec<Arc<str>>,
    pub(super) edges: Vec<Value>,
    pub(super) large: Vec<Value>,
    /// One byte over the largest size.
    pub(super) too_large: Value,
    /// One level over the deepest nesting.
    pub(super) too_deep: Value,
    /// Mostly many, so that most are new to their session.
    pub(super) messages: Vec<Id>,
}

impl Names {
    pub(super) fn new(profile: &Profile) -> Self {
        Names {
            sessions: Vec::new(),
            steps: numbered("step-", profile.names),
            calls: numbered("call-", profile.names),
            runs: numbered("run-", profile.names),
            keys: keys(profile.names),
            strings: STRINGS.into_iter().map(Arc::from).collect(),
            members: MEMBERS.into_iter().map(Arc::from).collect(),
            edges: edges(),
            large: if profile.large > 0 { large() } else { Vec::new() },
            too_large: Value::string("x".repeat(MAX_VALUE_BYTES - 1)),
            too_deep: (0..=Value::MAX_DEPTH)
                .fold(Value::Null, |inner, _| Value::array(vec![inner])),
            messages: numbered("message-", profile.messages),
        }
    }

    /// Names fresh sessions, so that no episode meets what another one left.
    pub(super) fn begin_episode(&mut self, episode: u64, sessions: u32) {
        // The number that differs comes first, where a comparison finds it soonest.
        self.sessions = (0..sessions).map(|n| format!("s{n}-episode-{episode}").into()).collect();
    }
}

fn numbered(prefix: &str, count: u32) -> Vec<Id> {
    (0..count).map(|number| format!("{prefix}{number}").into()).collect()
}

/// Keys in an order that differs between bytes, UTF-16 units and locales, one of them as
/// long as a key may be.
fn keys(count: u32) -> Vec<Id> {
    let awkward = ["a", "Z", "\u{ff5e}", "\u{1f600}", "x'\"\\%_ {}"].map(Id::from);
    let longest = Id::from("é".repeat(Id::MAX_BYTES / 2));
    awkward
        .into_iter()
        .chain([longest])
        .chain(numbered("key-", count))
        .take(count as usize)
        .collect()
}

const STRINGS: [&str; 10] = [
    "",
    "a",
    "text",
    "null",
    "1.0",
    "naïve ☃ 日本語",
    "\u{1f600}\u{10ffff}",
    "line\nbreak\ttab\r\u{1}\u{7f}",
    "quote\" back\\slash / 'apostrophe",
    "\u{feff}\u{200b}e\u{301}",
];

const MEMBERS: [&str; 6] = ["", "a", "b", "Z", "__proto__", "\u{1f600}"];

/// Values that careless stores change.
fn edges() -> Vec<Value> {
    let integers = [i64::MIN, i64::MAX, (1 << 53) + 1, -(1 << 53) - 1, 100_000_000_000_000_000];
    let floats = [0.1, -0.0, 1e300, 5e-324, 1.5, 9_223_372_036_854_775_808.0, 1e21, -2.5e-7];
    let empty: [(&str, Value); 0] = [];
    let deepest = (1..Value::MAX_DEPTH).fold(Value::array(vec![]), |inner, depth| {
        if depth % 2 == 0 { Value::array(vec![inner]) } else { Value::object([("inner", inner)]) }
    });
    integers
        .into_iter()
        .map(Value::Integer)
        .chain(floats.into_iter().filter_map(Value::number))
        .chain([Value::array(vec![]), Value::object(empty), deepest])
        .collect()
}

/// Values of exactly the largest size, as text and as a list.
fn large() -> Vec<Value> {
    let text = Value::string("x".repeat(MAX_VALUE_BYTES - 2));
    let wide = Value::string("日".repeat((MAX_VALUE_BYTES - 2) / 3));
    // `[0,0,…,0]`: two bytes an item, and one more for the bracket without a comma.
    let list = Value::array(vec![Value::Integer(0); (MAX_VALUE_BYTES - 1) / 2]);
    vec![text, wide, list]
}

#[cfg(test)]
mod tests {
    use super::*;
    use stagefault_models::{Message, Operation};

    #[test]
    fn every_name_and_value_of_the_pools_is_valid() {
        let profile = Profile::from_name("large").expect("a profile");
        let names = Names::new(profile);
        for values in [&names.edges, &names.large] {
            for body in values {
                let message = Message { id: "m".into(), body: body.clone() };
                let append =
                    Operation::AppendMessages { session: "s".into(), messages: vec![message] };
                append.validate().expect("the edges are inside the contract");
            }
        }
        assert!(names.keys.iter().all(Id::is_valid));
    }
}

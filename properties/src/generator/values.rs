//! Random values: mostly small, sometimes nested, now and then one that careless stores change.

use stagefault_models::Value;

use super::names::Names;
use crate::choices::Choices;

/// How deep a random value nests. The deepest that the contract admits is one of the edges.
const DEPTH: u32 = 3;

/// A random value; `large` in a thousand are as large as the contract admits.
pub(super) fn value<C: Choices + ?Sized>(names: &Names, large: u32, choices: &mut C) -> Value {
    if large > 0 && choices.chance(large, 1000) {
        return choices.pick(&names.large).clone();
    }
    nested(names, DEPTH, choices)
}

fn nested<C: Choices + ?Sized>(names: &Names, depth: u32, choices: &mut C) -> Value {
    let scalars = 24;
    match choices.below(if depth > 0 { scalars + 2 } else { scalars }) {
        0..=9 => Value::Integer(i64::from(choices.below(10))),
        10..=16 => Value::String(choices.pick(&names.strings).clone()),
        17 => Value::Null,
        18 => Value::Bool(true),
        19 => Value::Bool(false),
        20 => Value::Integer(choices.word() as i64),
        21 => Value::number(f64::from_bits(choices.word())).unwrap_or(Value::Null),
        22..24 => choices.pick(&names.edges).clone(),
        24 => {
            let length = choices.below(4);
            Value::array((0..length).map(|_| nested(names, depth - 1, choices)).collect())
        }
        _ => {
            let length = choices.below(4);
            Value::object((0..length).map(|_| {
                let key = choices.pick(&names.members).clone();
                (key, nested(names, depth - 1, choices))
            }))
        }
    }
}

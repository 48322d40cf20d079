//! JSON values, normalised so that equality is the contract's equality.
//!
//! The contract holds numbers equal by value: 1, 1.0 and 1e0 are one integer, and −0.0
//! is 0. [`Value`] keeps that as an invariant of its construction, so `==`, hashing and
//! the stores' encodings need no rule of their own. Arrays and objects are shared:
//! cloning a value never copies one.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use litemap::LiteMap;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A JSON value under the contract's equality.
#[derive(Clone, Debug, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number that is integral and within `i64`, exactly.
    Integer(i64),
    /// Any other number.
    Float(Float),
    /// Text.
    String(Arc<str>),
    /// A list.
    Array(Arc<Vec<Value>>),
    /// A map; of keys given twice the last one counts.
    Object(Arc<LiteMap<Arc<str>, Value>>),
}

/// A finite number that is not an integer within `i64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float(f64);

impl Float {
    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

// A `Float` is never NaN and never a zero, so its bits decide.
impl Eq for Float {}

impl Hash for Float {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Value {
    /// The deepest valid nesting; a scalar has depth 0, `[]` has depth 1.
    pub const MAX_DEPTH: usize = 64;

    /// The number, normalised; `None` for infinities and NaN, which JSON does not have.
    ///
    /// A literal with a fraction or an exponent reaches this as the nearest `f64`; only
    /// such a literal of more than 2^53 that is integral all the same (nobody prints
    /// one) is read a little off the contract's exact integer.
    pub fn number(number: f64) -> Option<Value> {
        // Both bounds are powers of two, hence exact; i64::MAX itself is not an f64.
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        if !number.is_finite() {
            return None;
        }
        let integral = number.trunc() == number && (-LIMIT..LIMIT).contains(&number);
        Some(if integral { Value::Integer(number as i64) } else { Value::Float(Float(number)) })
    }

    /// A text value.
    pub fn string(text: impl Into<Arc<str>>) -> Value {
        Value::String(text.into())
    }

    /// A list of values.
    pub fn array(items: Vec<Value>) -> Value {
        Value::Array(Arc::new(items))
    }

    /// A map of values; of keys given twice the last one counts.
    pub fn object<K: Into<Arc<str>>>(members: impl IntoIterator<Item = (K, Value)>) -> Value {
        let members = members.into_iter().map(|(key, value)| (key.into(), value));
        Value::Object(Arc::new(members.collect()))
    }

    /// The value as compact JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a value's keys are strings and its writer is memory")
    }

    /// Parses JSON text.
    ///
    /// # Errors
    /// The parser's, when the text is not one JSON value.
    pub fn from_json(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl PartialEq for Value {
    /// Mostly both sides share what they hold, which is asked first, and in the caller.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Integer(left), Value::Integer(right)) => left == right,
            (Value::Float(left), Value::Float(right)) => left == right,
            (Value::String(left), Value::String(right)) => {
                Arc::ptr_eq(left, right) || left == right
            }
            (Value::Array(left), Value::Array(right)) => Arc::ptr_eq(left, right) || left == right,
            (Value::Object(left), Value::Object(right)) => {
                Arc::ptr_eq(left, right) || left == right
            }
            _ => false,
        }
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Value::Null => {}
            Value::Bool(flag) => flag.hash(state),
            Value::Integer(number) => number.hash(state),
            Value::Float(number) => number.hash(state),
            Value::String(text) => text.hash(state),
            Value::Array(items) => items.hash(state),
            Value::Object(members) => members.hash(state),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Integer(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::string(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.to_json())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Float(number) => serializer.serialize_f64(number.get()),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => serializer.collect_seq(items.iter()),
            Value::Object(members) => serializer.collect_map(members.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        match i64::try_from(number) {
            Ok(number) => Ok(Value::Integer(number)),
            Err(_) => self.visit_f64(number as f64),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Value::number(number).ok_or_else(|| E::custom("a JSON number is finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::string(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Value::array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = LiteMap::new();
        while let Some((key, value)) = map.next_entry::<Arc<str>, Value>()? {
            members.insert(key, value);
        }
        Ok(Value::Object(Arc::new(members)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Value {
        Value::from_json(text).expect(text)
    }

    #[test]
    fn numbers_are_equal_by_value() {
        assert_eq!(parse("1.0"), Value::Integer(1));
        assert_eq!(parse("1e0"), Value::Integer(1));
        assert_eq!(parse("-0.0"), Value::Integer(0));
        assert_eq!(parse("1e17"), Value::Integer(100_000_000_000_000_000));
        assert_ne!(parse("0.1"), parse("0.10000000000000002"));
    }

    #[test]
    fn integers_within_i64_are_kept_exactly() {
        for exact in [i64::MIN, i64::MAX, (1 << 53) + 1] {
            assert_eq!(parse(&exact.to_string()), Value::Integer(exact));
            assert_eq!(Value::Integer(exact).to_json(), exact.to_string());
        }
    }

    #[test]
    fn numbers_past_i64_are_the_nearest_float() {
        assert_eq!(parse("9223372036854775808"), parse("9.223372036854775808e18"));
        assert_eq!(Some(parse("1e300")), Value::number(1e300));
        assert!(Value::from_json("1e400").is_err());
    }

    #[test]
    fn of_keys_given_twice_the_last_counts_and_order_is_free() {
        assert_eq!(parse(r#"{"a":1,"b":2,"a":3}"#), parse(r#"{"b":2,"a":3}"#));
    }
}

//! Names of things: sessions, steps, calls, runs, messages and state keys.
//!
//! An [`Id`] is shared text. A schedule names the same few things again and again, and
//! the model, the stores and the generator keep clones of one allocation, so most
//! comparisons of equal ids end at the pointer, and those of unequal ones at a hash or at
//! the first bytes, which lie beside the count of the clones.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a session, step, call, run or message, or a key of a session's state.
///
/// Ids compare as UTF-8 bytes. Any text can be held, so that invalid ids can be tried;
/// whether one is valid is found out once, when it is made.
#[derive(Clone)]
pub struct Id(Arc<Name>);

struct Name {
    text: Box<str>,
    valid: bool,
    hash: u64,
    /// The first 8 bytes as a big-endian number, padded with zeros: where the prefixes of
    /// two texts differ, they order the texts.
    prefix: u64,
}

impl Id {
    /// The longest valid id, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 128;

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether the contract admits this id: 1 to 128 bytes, none of them NUL.
    pub fn is_valid(&self) -> bool {
        self.0.valid
    }

    /// Whether the two are clones of one id, and so equal; others may be equal, too.
    #[inline]
    pub(crate) fn is_shared_with(&self, other: &Id) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A hash of the text, the same in every process.
    pub fn stable_hash(&self) -> u64 {
        self.0.hash
    }
}

impl From<Box<str>> for Id {
    fn from(text: Box<str>) -> Self {
        let bytes = text.as_bytes();
        let valid = (1..=Self::MAX_BYTES).contains(&bytes.len()) && !bytes.contains(&0);
        let (hash, prefix) = (fnv1a(bytes), prefix(bytes));
        Id(Arc::new(Name { text, valid, hash, prefix }))
    }
}

/// FNV-1a, 64 bits: names are short.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(first.len());
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Id::from(Box::<str>::from(text))
    }
}

impl From<String> for Id {
    fn from(text: String) -> Self {
        Id::from(text.into_boxed_str())
    }
}

impl Deref for Id {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Id {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.is_shared_with(other) || self.0.hash == other.0.hash && self.as_str() == other.as_str()
    }
}

impl Eq for Id {}

impl Ord for Id {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self.is_shared_with(other) {
            Ordering::Equal
        } else {
            let prefixes = self.0.prefix.cmp(&other.0.prefix);
            prefixes.then_with(|| self.as_str().cmp(other.as_str()))
        }
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<str>::deserialize(deserializer).map(Id::from)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_order_by_utf8_bytes_and_not_by_utf16_units() {
        // U+FF5E sorts before U+1F600 in UTF-8 and after its surrogates in UTF-16.
        assert!(Id::from("\u{ff5e}") < Id::from("\u{1f600}"));
        assert!(Id::from("Z") < Id::from("a"));
    }

    #[test]
    fn ids_order_and_equal_as_their_bytes_do_whatever_their_prefixes() {
        let texts = ["", "\0", "a", "a\0", "a\0b", "abcdefgh", "abcdefgh\0", "abcdefghi", "b"];
        for (left, right) in texts.iter().flat_map(|left| texts.map(|right| (*left, right))) {
            let (first, second) = (Id::from(left), Id::from(right));
            assert_eq!(first.cmp(&second), left.as_bytes().cmp(right.as_bytes()));
            assert_eq!(first == second, left == right);
        }
    }

    #[test]
    fn an_id_is_1_to_128_bytes_without_nul() {
        assert!(Id::from("a").is_valid());
        assert!(Id::from("é".repeat(64)).is_valid());
        assert!(!Id::from("").is_valid());
        assert!(!Id::from("a".repeat(129)).is_valid());
        assert!(!Id::from("é".repeat(65)).is_valid());
        assert!(!Id::from("a\0b").is_valid());
    }
}

//! The password of a throw-away server, which guards it against the machine's other users.
//!
//! Only we and those who connect ever know it. The server is given what it needs to check
//! it, and so nothing that it, or `initdb`, could write to a log.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use rand::distr::{Alphanumeric, SampleString};
use sha2::{Digest, Sha256};

/// A random password that does not show itself in debug output.
#[derive(Clone)]
pub(super) struct Password(String);

impl Password {
    /// 32 letters and digits, which need no quoting in a URL: 190 bits.
    pub(super) fn generate() -> Self {
        Password(Alphanumeric.sample_string(&mut rand::rng(), 32))
    }

    /// The password itself, for those who connect.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// What PostgreSQL stores in its place (SCRAM-SHA-256, RFC 5802).
    ///
    /// With one iteration where the server's default is 4096. They slow down the guessing of
    /// passwords that people think up, which nobody does with 190 random bits; and they cost
    /// more than all the rest of connecting, which a lane that cuts connections does a lot.
    pub(super) fn verifier(&self) -> String {
        self.verifier_with(&rand::random())
    }

    fn verifier_with(&self, salt: &[u8; 16]) -> String {
        let first_block = [salt.as_slice(), &1_u32.to_be_bytes()].concat();
        let salted = keyed_hash(self.0.as_bytes(), &first_block);
        let stored_key = Sha256::digest(keyed_hash(&salted, b"Client Key"));
        let server_key = keyed_hash(&salted, b"Server Key");
        let [salt, stored_key, server_key] =
            [salt.as_slice(), &stored_key, &server_key].map(|bytes| STANDARD.encode(bytes));
        format!("SCRAM-SHA-256$1:{salt}${stored_key}:{server_key}")
    }
}

fn keyed_hash(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut hash = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    hash.update(message);
    hash.finalize().into_bytes().into()
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

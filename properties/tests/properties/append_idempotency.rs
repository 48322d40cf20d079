//! Append idempotency catches a message that is stored again.

use libtest_mimic::Trial;
use stagefault_properties::suite::APPEND_IDEMPOTENCY;
use stagefault_stores::flaws::Flaw;

use crate::caught;

/// Create, append a list that names a message twice.
pub fn trials() -> Vec<Trial> {
    caught::trials(APPEND_IDEMPOTENCY, Flaw::AppendNotIdempotent, 2)
}

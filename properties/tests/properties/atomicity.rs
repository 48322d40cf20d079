//! Atomicity catches a promote that is refused and leaves its changes behind.

use libtest_mimic::Trial;
use stagefault_properties::suite::ATOMICITY;
use stagefault_stores::flaws::Flaw;

use crate::caught;

/// Create, append a message, promote another body under its id.
pub fn trials() -> Vec<Trial> {
    caught::trials(ATOMICITY, Flaw::ChangesBeforeMessageConflict, 3)
}

//! Staging cleanup catches a promote that leaves its staging.

use libtest_mimic::Trial;
use stagefault_properties::suite::STAGING_CLEANUP;
use stagefault_stores::flaws::Flaw;

use crate::caught;

/// Create, stage, promote.
pub fn trials() -> Vec<Trial> {
    caught::trials(STAGING_CLEANUP, Flaw::StagingNotCleared, 3)
}

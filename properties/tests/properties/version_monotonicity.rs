//! Version monotonicity catches a promote that does not look at the version.

use libtest_mimic::Trial;
use stagefault_properties::suite::VERSION_MONOTONICITY;
use stagefault_stores::flaws::Flaw;

use crate::caught;

/// Create, promote with a version that is not the current one.
pub fn trials() -> Vec<Trial> {
    caught::trials(VERSION_MONOTONICITY, Flaw::VersionNotChecked, 2)
}

//! Call lifecycle catches a submit that ignores the deadline.

use libtest_mimic::Trial;
use stagefault_properties::suite::CALL_LIFECYCLE;
use stagefault_stores::flaws::Flaw;

use crate::caught;

/// Create, register, submit at the deadline.
pub fn trials() -> Vec<Trial> {
    caught::trials(CALL_LIFECYCLE, Flaw::DeadlineIgnored, 3)
}

//! Coordination catches an interrupt that is taken and stays.

use libtest_mimic::Trial;
use stagefault_properties::suite::COORDINATION;
use stagefault_stores::flaws::Flaw;

use crate::caught;

/// Create, request, consume.
pub fn trials() -> Vec<Trial> {
    caught::trials(COORDINATION, Flaw::InterruptNotCleared, 3)
}

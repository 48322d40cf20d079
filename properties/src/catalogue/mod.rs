//! The planted flaws: what each breaks, where it was reported, which lane can show it, and
//! the shortest schedule that does.
//!
//! The stores say where a flaw lives ([`stagefault_stores::flaws`]); this table says what
//! is expected of the lanes, a file for each of them. A shrunk schedule is measured against
//! the shortest one here.

mod chaos;
mod concurrent;
mod races;
mod sequential;

use serde::Serialize;
use stagefault_models::{Invariant, Schedule};
use stagefault_stores::flaws::Flaw;

use crate::profile::Profile;

/// What is known of a flaw.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The flaw.
    pub flaw: Flaw,
    /// The failure reported in the field that it is modelled on, by its number in the
    /// project's list of cases.
    pub case: Option<&'static str>,
    /// The invariant that it breaks.
    pub invariant: Invariant,
    /// The lane that can show it.
    pub lane: Lane,
    /// The stores that have a place for it, by name.
    pub stores: &'static [&'static str],
    /// The shortest schedule that shows it.
    pub shortest: fn() -> Schedule,
}

impl Entry {
    /// The profile whose episodes show it soon.
    pub fn profile(&self) -> &'static Profile {
        let name = match (self.lane, self.flaw) {
            (Lane::Sequential, _) => return Profile::standard(),
            // Theirs is a promote's.
            (Lane::Chaos, Flaw::StatementByStatement | Flaw::StatementReplayedOutside) => "commits",
            // Theirs is a transaction, which only sweeps have.
            (
                Lane::Chaos,
                Flaw::BeginNotGuarded | Flaw::FailedTransactionKept | Flaw::IdleLeftInTransaction,
            ) => "lapses",
            (Lane::Chaos, _) => "chaos",
            // They need a sweep that waits for one session while another one is busy.
            (Lane::Concurrent, Flaw::SweepOfOneUpdate | Flaw::SweepLocksInTheWrite) => "swept",
            (Lane::Concurrent, _) => "crowded",
        };
        Profile::from_name(name).expect("it is in the table")
    }
}

/// A way of running schedules, as far as it matters for what they can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// One operation after another.
    Sequential,
    /// The operations of several writers at the same time.
    Concurrent,
    /// Operations whose connections, callers and servers meet faults.
    Chaos,
}

/// For a flaw that every store can have.
const EVERY_STORE: &[&str] = &["memory", "sqlite", "postgres"];

impl Lane {
    /// The lane's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Lane::Sequential => "sequential",
            Lane::Concurrent => "concurrent",
            Lane::Chaos => "chaos",
        }
    }

    /// How many operations more than the shortest possible a shrunk schedule may have.
    pub fn slack(self) -> usize {
        match self {
            Lane::Sequential => 2,
            Lane::Concurrent | Lane::Chaos => 6,
        }
    }
}

/// Every flaw, those of a lane together.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    [sequential::ENTRIES, races::ENTRIES, concurrent::ENTRIES, chaos::ENTRIES].into_iter().flatten()
}

/// The entry of a flaw.
pub fn of(flaw: Flaw) -> &'static Entry {
    all().find(|entry| entry.flaw == flaw).expect("every flaw is in the catalogue")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flaw_is_in_the_catalogue_once() {
        for flaw in Flaw::ALL {
            let entries = all().filter(|entry| entry.flaw == flaw).count();
            assert_eq!(entries, 1, "{flaw}");
        }
    }

    #[test]
    fn what_needs_a_concurrent_lane_is_shown_by_operations_that_overlap() {
        for entry in all() {
            let overlaps = (entry.shortest)().interleaving.is_some();
            assert_eq!(overlaps, entry.lane == Lane::Concurrent, "{}", entry.flaw);
        }
    }

    #[test]
    fn only_what_needs_the_chaos_lane_is_shown_by_a_fault() {
        for entry in all().filter(|entry| entry.lane != Lane::Chaos) {
            let faults = (entry.shortest)().operations.into_iter().filter_map(|entry| entry.fault);
            assert_eq!(faults.count(), 0, "{}", entry.flaw);
        }
    }
}

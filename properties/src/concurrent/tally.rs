//! What the concurrent lane counts: completions, faults, and how long operations took.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use stagefault_models::{CompletionKind, Fault, OperationKind, Receipt};

use super::Fired;
use crate::tally::Tally;

/// What was counted in all episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tallies {
    /// Operation × completion, the reads and deletions at the end of episodes included.
    pub completions: Tally,
    /// Injected faults that fired, by kind.
    pub faults: Faults,
    /// What came of those that were done for real.
    #[serde(default, skip_serializing_if = "Fired::is_empty")]
    pub fired: Fired,
    /// How long operations took, where writers run freely.
    pub latencies: Latencies,
}

/// Injected faults that fired, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each counts the fault of its name")]
pub struct Faults {
    pub not_applied: u64,
    pub unknown_before: u64,
    pub unknown_after: u64,
    pub unknown_late: u64,
}

/// For each operation, how many took less than 2, 4, 8… microseconds and no less than half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latencies([[u64; Latencies::BUCKETS]; OperationKind::ALL.len()]);

impl Tallies {
    /// Counts all that another one has counted.
    pub fn add(&mut self, other: &Tallies) {
        self.completions.add(&other.completions);
        self.faults.add(&other.faults);
        self.fired.add(&other.fired);
        self.latencies.add(&other.latencies);
    }

    pub(super) fn count(
        &mut self,
        operation: OperationKind,
        completion: CompletionKind,
        receipt: Option<Receipt>,
        since: Option<Instant>,
    ) {
        self.completions.count(operation, completion);
        match receipt.map(|receipt| receipt.fault) {
            None | Some(Fault::At { .. }) => {}
            Some(Fault::NotApplied) => self.faults.not_applied += 1,
            Some(Fault::UnknownBefore) => self.faults.unknown_before += 1,
            Some(Fault::UnknownAfter) => self.faults.unknown_after += 1,
            Some(Fault::UnknownLate { .. }) => self.faults.unknown_late += 1,
        }
        if let Some(since) = since {
            self.latencies.count(operation, since.elapsed());
        }
    }
}

impl Faults {
    /// Each kind by its name, and how often it fired.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Faults { not_applied, unknown_before, unknown_after, unknown_late } = *self;
        [
            ("not_applied", not_applied),
            ("unknown_before", unknown_before),
            ("unknown_after", unknown_after),
            ("unknown_late", unknown_late),
        ]
        .into_iter()
    }

    fn add(&mut self, other: &Faults) {
        self.not_applied += other.not_applied;
        self.unknown_before += other.unknown_before;
        self.unknown_after += other.unknown_after;
        self.unknown_late += other.unknown_late;
    }
}

impl Latencies {
    /// The last one holds all that is longer, from about a minute on.
    pub const BUCKETS: usize = 27;

    fn count(&mut self, operation: OperationKind, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = micros.checked_ilog2().unwrap_or(0) as usize;
        self.0[operation as usize][bucket.min(Self::BUCKETS - 1)] += 1;
    }

    /// The counts of one operation: bucket n is from 2^n to 2^(n + 1) microseconds, the
    /// first one from 0.
    pub fn of(&self, operation: OperationKind) -> &[u64; Self::BUCKETS] {
        &self.0[operation as usize]
    }
}

impl Latencies {
    fn add(&mut self, other: &Latencies) {
        let counts = self.0.iter_mut().flatten();
        counts.zip(other.0.iter().flatten()).for_each(|(count, more)| *count += more);
    }
}

impl Serialize for Latencies {
    /// As `{"Promote": [0, 0, 5, 12]}`: operations that did not happen are left out, and so
    /// are the buckets past the last that is not empty.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counted = OperationKind::ALL.into_iter().filter_map(|operation| {
            let buckets = self.of(operation);
            let last = buckets.iter().rposition(|count| *count > 0)?;
            Some((operation, &buckets[..=last]))
        });
        serializer.collect_map(counted)
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut latencies = Latencies::default();
        for (operation, counts) in BTreeMap::<OperationKind, Vec<u64>>::deserialize(deserializer)? {
            let buckets = latencies.0[operation as usize].get_mut(..counts.len());
            let buckets = buckets.ok_or_else(|| D::Error::custom("too many latency buckets"))?;
            buckets.copy_from_slice(&counts);
        }
        Ok(latencies)
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies([[0; Latencies::BUCKETS]; OperationKind::ALL.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_lies_between_its_bucket_and_the_next() {
        let mut latencies = Latencies::default();
        for micros in [0, 1, 2, 3, 4, u64::MAX] {
            latencies.count(OperationKind::Load, Duration::from_micros(micros));
        }
        let counted = latencies.of(OperationKind::Load);
        assert_eq!(counted[..3], [2, 2, 1]);
        assert_eq!(counted[Latencies::BUCKETS - 1], 1);
        assert_eq!(latencies.of(OperationKind::Stage).iter().sum::<u64>(), 0);
    }

    #[test]
    fn what_was_counted_is_read_back_as_it_was_and_adds_up() {
        let mut tallies = Tallies::default();
        let fault = Fault::UnknownLate { after: 2 };
        let (took, late) = (Instant::now(), Some(Receipt { fault, applied: None }));
        tallies.count(OperationKind::Load, CompletionKind::Done, None, Some(took));
        tallies.count(OperationKind::Promote, CompletionKind::Unknown, late, None);
        let text = serde_json::to_string(&tallies).expect("its keys are strings");
        let mut read: Tallies = serde_json::from_str(&text).expect("it was just written");
        assert_eq!(read, tallies);
        read.add(&tallies);
        assert_eq!(read.completions.total(), 4);
        assert_eq!(read.faults.unknown_late, 2);
        assert_eq!(read.latencies.of(OperationKind::Load).iter().sum::<u64>(), 2);
    }
}

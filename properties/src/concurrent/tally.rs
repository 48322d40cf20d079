//! What the concurrent lane counts: completions, faults, and how long operations took.

use std::time::{Duration, Instant};

use serde::Serialize;
use stagefault_models::{CompletionKind, Fault, OperationKind};

use crate::tally::Tally;

/// What was counted in all episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tallies {
    /// Operation × completion, the reads and deletions at the end of episodes included.
    pub completions: Tally,
    /// Faults that fired, by kind.
    pub faults: Faults,
    /// How long operations took, where writers run freely.
    pub latencies: Latencies,
}

/// Faults that fired, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "each counts the fault of its name")]
pub struct Faults {
    pub not_applied: u64,
    pub unknown_before: u64,
    pub unknown_after: u64,
    pub unknown_late: u64,
}

/// For each operation, how many took less than 2, 4, 8… microseconds and no less than half.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Latencies([[u64; Latencies::BUCKETS]; OperationKind::ALL.len()]);

impl Tallies {
    pub(super) fn count(
        &mut self,
        operation: OperationKind,
        completion: CompletionKind,
        receipt: Option<Fault>,
        since: Option<Instant>,
    ) {
        self.completions.count(operation, completion);
        match receipt {
            None => {}
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
}

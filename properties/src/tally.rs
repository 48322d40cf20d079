//! Counting what a run met: operation × completion.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Deserializer;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use stagefault_models::{CompletionKind, OperationKind};

/// How often each operation met each completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    counts: [[u64; CompletionKind::ALL.len()]; OperationKind::ALL.len()],
}

impl Default for Tally {
    fn default() -> Self {
        Tally { counts: [[0; CompletionKind::ALL.len()]; OperationKind::ALL.len()] }
    }
}

impl Tally {
    /// Counts one operation.
    pub fn count(&mut self, operation: OperationKind, completion: CompletionKind) {
        self.counts[operation as usize][completion as usize] += 1;
    }

    /// Counts all that another tally has counted.
    pub fn add(&mut self, other: &Tally) {
        for (operation, completion, count) in other.iter() {
            self.counts[operation as usize][completion as usize] += count;
        }
    }

    /// How often this operation met this completion.
    pub fn of(&self, operation: OperationKind, completion: CompletionKind) -> u64 {
        self.counts[operation as usize][completion as usize]
    }

    /// How many operations were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// All counts that are not zero, in the contract's order.
    pub fn iter(&self) -> impl Iterator<Item = (OperationKind, CompletionKind, u64)> {
        OperationKind::ALL.into_iter().flat_map(move |operation| {
            CompletionKind::ALL
                .into_iter()
                .map(move |completion| (operation, completion, self.of(operation, completion)))
                .filter(|(_, _, count)| *count > 0)
        })
    }

    /// The completions of one operation, for example `Done 12 · StaleState 3`.
    pub fn line(&self, operation: OperationKind) -> Option<String> {
        let counts: Vec<String> = self
            .iter()
            .filter(|(counted, _, _)| *counted == operation)
            .map(|(_, completion, count)| format!("{completion:?} {count}"))
            .collect();
        (!counts.is_empty()).then(|| counts.join(" · "))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for operation in OperationKind::ALL {
            if let Some(line) = self.line(operation) {
                writeln!(formatter, "  {:<20} {line}", format!("{operation:?}"))?;
            }
        }
        Ok(())
    }
}

impl Serialize for Tally {
    /// As `{"Promote": {"Done": 12, "StaleState": 3}}`, zeros left out.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut operations = serializer.serialize_map(None)?;
        for operation in OperationKind::ALL {
            let completions: BTreeMap<CompletionKind, u64> = self
                .iter()
                .filter(|(counted, _, _)| *counted == operation)
                .map(|(_, completion, count)| (completion, count))
                .collect();
            if !completions.is_empty() {
                operations.serialize_entry(&operation, &completions)?;
            }
        }
        operations.end()
    }
}

impl<'de> Deserialize<'de> for Tally {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        type Counts = BTreeMap<OperationKind, BTreeMap<CompletionKind, u64>>;
        let mut tally = Tally::default();
        for (operation, completions) in Counts::deserialize(deserializer)? {
            for (completion, count) in completions {
                tally.counts[operation as usize][completion as usize] = count;
            }
        }
        Ok(tally)
    }
}

//! What came of the faults that were done for real: operation × point × kind × completion.
//!
//! An operation in doubt did take effect or did not: its fault's receipt says so where it
//! can, and else the order of operations that the checker found.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stagefault_models::{Completion, Entry, Fault, FaultKind, OperationKind, Point, Receipt};

use super::{Episode, Judgement};

/// An operation, and the fault that was planned for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tried {
    /// The operation.
    pub operation: OperationKind,
    /// Where the fault was to happen.
    pub point: Point,
    /// What was to happen.
    pub kind: FaultKind,
}

/// How often a fault was planned, and what came of those that fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// How often it was planned. Not each one fires: an operation that is refused never gets
    /// to its commit.
    pub attempted: u64,
    /// How often it fired.
    pub fired: u64,
    /// Of those that fired, how many operations were done,
    #[serde(skip_serializing_if = "is_zero")]
    pub done: u64,
    /// refused,
    #[serde(skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// told as not applied,
    #[serde(skip_serializing_if = "is_zero")]
    pub not_applied: u64,
    /// in doubt and applied,
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown_applied: u64,
    /// in doubt and not applied,
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown_not_applied: u64,
    /// or in doubt, and not to be decided.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u64,
    /// How many of those that fired did so in an episode that is a violation.
    #[serde(skip_serializing_if = "is_zero")]
    pub violations: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What came of all faults that were done for real.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fired(BTreeMap<Tried, Counts>);

impl Counts {
    /// How many operations did take effect.
    pub fn applied(&self) -> u64 {
        self.done + self.unknown_applied
    }

    /// How many operations had no effect.
    pub fn without_effect(&self) -> u64 {
        self.refused + self.not_applied + self.unknown_not_applied
    }

    /// Counts all that another one has counted.
    pub fn add(&mut self, other: &Counts) {
        self.attempted += other.attempted;
        self.fired += other.fired;
        self.done += other.done;
        self.refused += other.refused;
        self.not_applied += other.not_applied;
        self.unknown_applied += other.unknown_applied;
        self.unknown_not_applied += other.unknown_not_applied;
        self.unknown += other.unknown;
        self.violations += other.violations;
    }

    fn count(&mut self, completion: Option<&Completion>, applied: Option<bool>) {
        self.fired += 1;
        match (completion, applied) {
            (Some(Completion::Done(_)), _) => self.done += 1,
            (Some(Completion::Refused(_)), _) => self.refused += 1,
            (Some(Completion::NotApplied(_)), _) => self.not_applied += 1,
            (Some(Completion::Unknown(_)) | None, Some(true)) => self.unknown_applied += 1,
            (Some(Completion::Unknown(_)) | None, Some(false)) => self.unknown_not_applied += 1,
            (Some(Completion::Unknown(_)) | None, None) => self.unknown += 1,
        }
    }
}

impl Fired {
    /// What was counted, in the order of operations, points and kinds.
    pub fn iter(&self) -> impl Iterator<Item = (Tried, Counts)> {
        self.0.iter().map(|(tried, counts)| (*tried, *counts))
    }

    /// Whether no fault was planned.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All operations, points and kinds together.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.0.values().for_each(|counts| total.add(counts));
        total
    }

    /// Counts all that another one has counted.
    pub fn add(&mut self, other: &Fired) {
        other.iter().for_each(|(tried, counts)| self.0.entry(tried).or_default().add(&counts));
    }

    /// Counts the faults of an episode that was judged.
    pub fn count(&mut self, episode: &Episode, judgement: &Judgement) {
        let happened = match judgement {
            Judgement::Holds { happened } => Some(happened),
            Judgement::Violation(_) | Judgement::Undecided(_) => None,
        };
        let is_violation = matches!(judgement, Judgement::Violation(_));
        let entries = episode.schedule.operations.iter().zip(&episode.receipts);
        for (index, (entry, receipt)) in entries.enumerate() {
            let Some(tried) = Tried::of(entry) else { continue };
            let counts = self.0.entry(tried).or_default();
            counts.attempted += 1;
            let Some(receipt) = receipt else { continue };
            let returned = episode.history.operations[index].returned.as_ref();
            let completion = returned.map(|returned| &returned.completion);
            counts.count(completion, applied(*receipt, index, happened));
            counts.violations += u64::from(is_violation);
        }
    }
}

fn applied(receipt: Receipt, index: usize, happened: Option<&BTreeSet<usize>>) -> Option<bool> {
    receipt.applied.or_else(|| happened.map(|happened| happened.contains(&index)))
}

impl Tried {
    /// The fault of this operation, if one is planned that is done for real.
    fn of(entry: &Entry) -> Option<Self> {
        match entry.fault {
            Some(Fault::At { point, kind }) => {
                Some(Tried { operation: entry.operation.kind(), point, kind })
            }
            _ => None,
        }
    }
}

/// One line of the list that a document holds.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    tried: Tried,
    #[serde(flatten)]
    counts: Counts,
}

impl Serialize for Fired {
    /// As a list, for a point is no key of a JSON object.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(tried, counts)| Line { tried, counts }))
    }
}

impl<'de> Deserialize<'de> for Fired {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fired = Fired::default();
        for Line { tried, counts } in Vec::<Line>::deserialize(deserializer)? {
            fired.0.entry(tried).or_default().add(&counts);
        }
        Ok(fired)
    }
}

//! The matrix of who catches what, for a reader and as JSON.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use stagefault_models::Invariant;
use stagefault_properties::catalogue::{Entry, Lane};

use crate::documents::as_seconds;
use crate::stores::StoreName;

/// What came of all hunts.
#[derive(Debug, Serialize)]
pub struct Matrix {
    /// Always `stagefault.flaws/1`.
    pub format: &'static str,
    /// Whether the store that always fails was caught.
    pub canary: bool,
    pub flaws: Vec<Row>,
}

/// One flaw in one store.
#[derive(Debug, Serialize)]
pub struct Row {
    pub flaw: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<&'static str>,
    pub store: StoreName,
    pub invariant: Invariant,
    /// The lane that can show it.
    pub lane: Lane,
    /// How many operations the shortest schedule has that shows it.
    pub shortest: usize,
    pub verdict: Verdict,
    pub hunts: Vec<Hunt>,
}

/// What came of the hunts for a flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// From every seed it was caught, and shrunk nearly to the shortest schedule.
    Caught,
    /// From some seed it was not.
    Missed,
}

/// One flaw in one store from one seed.
#[derive(Debug, Serialize)]
pub struct Hunt {
    pub seed: u64,
    /// How many episodes ran until it was caught, or in all.
    pub episodes: u64,
    /// How many operations ran until it was caught, or in all.
    pub operations: u64,
    #[serde(serialize_with = "as_seconds", rename = "seconds")]
    pub elapsed: Duration,
    /// How many operations the shrunk schedule has; absent: not caught.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<usize>,
}

impl Matrix {
    /// Whether the canary was caught, and every flaw.
    pub fn all_caught(&self) -> bool {
        self.canary && self.count(Verdict::Missed) == 0
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.flaws.iter().filter(|row| row.verdict == verdict).count()
    }
}

impl Row {
    /// What the hunts from all seeds say of a flaw.
    pub fn of(entry: &Entry, store: StoreName, hunts: Vec<Hunt>) -> Self {
        let shortest = (entry.shortest)().operations.len();
        let longest = shortest + entry.lane.slack();
        let short = |hunt: &Hunt| hunt.shrunk.is_some_and(|shrunk| shrunk <= longest);
        let verdict = if hunts.iter().all(short) { Verdict::Caught } else { Verdict::Missed };
        Row {
            flaw: entry.flaw.name(),
            case: entry.case,
            store,
            invariant: entry.invariant,
            lane: entry.lane,
            shortest,
            verdict,
            hunts,
        }
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["flaw", "case", "store", "invariant", "lane", "caught"];
        let [flaw, case, store, invariant, lane, caught] = header;
        writeln!(formatter, "{flaw:<32} {case:<4} {store:<8} {invariant:<21} {lane:<11} {caught}")?;
        for row in &self.flaws {
            writeln!(formatter, "{row}")?;
        }
        let (caught, all) = (self.count(Verdict::Caught), self.flaws.len());
        write!(formatter, "{caught} of {all} flaws caught")?;
        let canary = if self.canary { "caught" } else { "NOT CAUGHT: nothing here can be trusted" };
        write!(formatter, "; the canary: {canary}")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let case = self.case.unwrap_or("-");
        let (store, invariant) = (self.store.as_str(), self.invariant.as_str());
        write!(formatter, "{:<32} {case:<4} {store:<8} {invariant:<21} ", self.flaw)?;
        write!(formatter, "{:<11} ", self.lane.as_str())?;
        let operations = self.hunts.iter().map(|hunt| hunt.operations).max().unwrap_or(0);
        let elapsed = self.hunts.iter().map(|hunt| hunt.elapsed).max().unwrap_or_default();
        let shrunk = self.hunts.iter().filter_map(|hunt| hunt.shrunk).max();
        match shrunk {
            Some(shrunk) if self.verdict == Verdict::Caught => write!(
                formatter,
                "within {operations} operations, {:.1} s; shrunk to {shrunk}, shortest {}",
                elapsed.as_secs_f64(),
                self.shortest
            ),
            Some(shrunk) if self.hunts.iter().all(|hunt| hunt.shrunk.is_some()) => {
                write!(formatter, "NOT SHRUNK: to {shrunk} only, shortest {}", self.shortest)
            }
            _ => write!(formatter, "NO: not within {operations} operations"),
        }
    }
}

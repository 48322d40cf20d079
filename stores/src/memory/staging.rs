//! What a session of the memory store has staged.
//!
//! The marks lie apart from the changes, so that a `Load`, which shows the marks alone,
//! shares them as they are.

use std::ops::Range;
use std::sync::Arc;

use stagefault_models::{Change, Id, Millis, Shared, Stage, StagedMark};

use crate::flaws::{Flaw, Flaws};

/// Staged calls, sorted by (step, call).
#[derive(Clone, Default)]
pub(super) struct Staging {
    marks: Shared<Vec<StagedMark>>,
    /// The changes of each mark, in the same place.
    changes: Vec<Arc<[Change]>>,
}

impl Staging {
    pub(super) fn marks(&self) -> &Shared<Vec<StagedMark>> {
        &self.marks
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&StagedMark, &Arc<[Change]>)> {
        self.marks.iter().zip(&self.changes)
    }

    /// Whether the same call is staged.
    pub(super) fn holds(&self, stage: &Stage) -> bool {
        self.marks.iter().any(|mark| mark.step == stage.step && mark.call == stage.call)
    }

    /// Stages a call, in place of what it staged before.
    pub(super) fn put(&mut self, stage: &Stage) {
        let mark = StagedMark { step: stage.step.clone(), call: stage.call.clone(), at: stage.at };
        let key = (&mark.step, &mark.call);
        match self.marks.binary_search_by(|staged| (&staged.step, &staged.call).cmp(&key)) {
            Ok(same) => {
                self.marks[same] = mark;
                self.changes[same] = stage.changes.clone();
            }
            Err(between) => {
                self.marks.insert(between, mark);
                self.changes.insert(between, stage.changes.clone());
            }
        }
    }

    /// The step's changes, by (at, call).
    pub(super) fn changes_of(&self, step: &Id, flaws: &Flaws) -> impl Iterator<Item = &Change> {
        let mut calls: Vec<usize> = self.range(step).collect();
        // Stable, and already in order of the calls.
        if !flaws.has(Flaw::StagingInOrderOfNames) {
            calls.sort_by_key(|call| self.marks[*call].at);
        }
        calls.into_iter().flat_map(|call| self.changes[call].iter())
    }

    pub(super) fn count(&self, step: &Id) -> u64 {
        self.range(step).len() as u64
    }

    /// Removes the step's calls and counts them.
    pub(super) fn clear(&mut self, step: &Id) -> u64 {
        let range = self.range(step);
        let count = range.len() as u64;
        if count > 0 {
            self.marks.drain(range.clone());
            self.changes.drain(range);
        }
        count
    }

    /// Removes the calls that were staged at `latest` or before.
    pub(super) fn sweep(&mut self, latest: Millis, mut swept: impl FnMut(&StagedMark)) {
        for place in (0..self.changes.len()).rev() {
            if self.marks[place].at <= latest {
                swept(&self.marks[place]);
                self.marks.remove(place);
                self.changes.remove(place);
            }
        }
    }

    /// Where the step's calls are; they lie together.
    fn range(&self, step: &Id) -> Range<usize> {
        let start = self.marks.partition_point(|mark| mark.step < *step);
        let end = self.marks.partition_point(|mark| mark.step <= *step);
        start..end
    }
}

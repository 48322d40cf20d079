//! What a session of the memory store has staged.
//!
//! The marks, sorted by (step, call), are part of what `Load` shows; the changes of each
//! lie beside them, in the same place of a list of their own.

use std::ops::Range;

use stagefault_models::{Change, Id, Millis, Stage, StagedMark};

use super::record::Record;
use crate::flaws::{Flaw, Flaws};

impl Record {
    /// Whether the same call is staged.
    pub(super) fn holds_staged(&self, stage: &Stage) -> bool {
        self.seen.staged.iter().any(|mark| mark.step == stage.step && mark.call == stage.call)
    }

    /// Stages a call, in place of what it staged before.
    pub(super) fn put_staged(&mut self, stage: &Stage) {
        let mark = StagedMark { step: stage.step.clone(), call: stage.call.clone(), at: stage.at };
        let key = (&mark.step, &mark.call);
        let marks = &mut self.seen.staged;
        match marks.binary_search_by(|staged| (&staged.step, &staged.call).cmp(&key)) {
            Ok(same) => {
                marks[same] = mark;
                self.staged_changes[same] = stage.changes.clone();
            }
            Err(between) => {
                marks.insert(between, mark);
                self.staged_changes.insert(between, stage.changes.clone());
            }
        }
    }

    /// The step's changes, by (at, call).
    pub(super) fn changes_of(&self, step: &Id, flaws: &Flaws) -> impl Iterator<Item = &Change> {
        let mut calls: Vec<usize> = self.range_of(step).collect();
        // Stable, and already in order of the calls.
        if !flaws.has(Flaw::StagingInOrderOfNames) {
            calls.sort_by_key(|call| self.seen.staged[*call].at);
        }
        calls.into_iter().flat_map(|call| self.staged_changes[call].iter())
    }

    pub(super) fn count_staged(&self, step: &Id) -> u64 {
        self.range_of(step).len() as u64
    }

    /// Removes the step's calls and counts them.
    pub(super) fn clear_staged(&mut self, step: &Id) -> u64 {
        let range = self.range_of(step);
        let count = range.len() as u64;
        if count > 0 {
            self.seen.staged.drain(range.clone());
            self.staged_changes.drain(range);
        }
        count
    }

    /// Removes the calls that were staged at `latest` or before.
    pub(super) fn sweep_staged(&mut self, latest: Millis, mut swept: impl FnMut(&StagedMark)) {
        for place in (0..self.staged_changes.len()).rev() {
            if self.seen.staged[place].at <= latest {
                swept(&self.seen.staged.remove(place));
                self.staged_changes.remove(place);
            }
        }
    }

    /// Where the step's calls are; they lie together.
    fn range_of(&self, step: &Id) -> Range<usize> {
        let start = self.seen.staged.partition_point(|mark| mark.step < *step);
        let end = self.seen.staged.partition_point(|mark| mark.step <= *step);
        start..end
    }
}

//! Dropping operations.
//!
//! A dropped promote moves every later version down by one, so a plain drop makes later
//! promotes stale and often hides the bug. Every drop is therefore tried twice: as it is,
//! and with the versions that were current kept current.

use stagefault_models::{Entry, Namespaces, Operation, Schedule, StoreModel};

use super::runs::Runs;
use super::{Ended, Progress, Search};

/// Schedules of up to this many operations are searched for pairs to drop.
const PAIRS_UP_TO: usize = 16;

impl<N: Namespaces, P: FnMut(Progress)> Search<'_, N, P> {
    /// Drops runs of operations, from half of the schedule down to single ones.
    pub(super) async fn drop_runs(&mut self) -> Result<(), Ended> {
        let mut runs = Runs::of(self.best.schedule.operations.len());
        while let Some(run) = runs.next(self.best.schedule.operations.len()) {
            self.drop_where(|index| run.contains(&index)).await?;
        }
        Ok(())
    }

    /// Drops two operations that only together are of no use, such as an interrupt's
    /// request and its consumption.
    pub(super) async fn drop_pairs(&mut self) -> Result<(), Ended> {
        let mut first = 0;
        while first < self.best.schedule.operations.len().min(PAIRS_UP_TO) {
            let mut second = first + 1;
            let mut dropped = false;
            while second < self.best.schedule.operations.len().min(PAIRS_UP_TO) && !dropped {
                dropped = self.drop_where(|index| index == first || index == second).await?;
                second += 1;
            }
            if !dropped {
                first += 1;
            }
        }
        Ok(())
    }

    /// Sends everything from one writer, or as much as possible.
    pub(super) async fn merge_writers(&mut self) -> Result<(), Ended> {
        let mut merged = self.best.schedule.clone();
        merged.operations.iter_mut().for_each(|entry| entry.writer = 0);
        if self.keep(merged).await? {
            return Ok(());
        }
        let mut index = 0;
        while index < self.best.schedule.operations.len() {
            for writer in 0..self.best.schedule.operations[index].writer {
                let mut candidate = self.best.schedule.clone();
                candidate.operations[index].writer = writer;
                if self.keep(candidate).await? {
                    break;
                }
            }
            index += 1;
        }
        Ok(())
    }

    async fn drop_where(&mut self, dropped: impl Fn(usize) -> bool) -> Result<bool, Ended> {
        let mut plain = self.best.schedule.clone();
        plain.retain(|index| !dropped(index));
        let current = with_versions_kept_current(&self.best.schedule, &dropped);
        Ok(self.keep(plain).await? || self.keep(current).await?)
    }
}

/// The schedule without the dropped operations, in which a promote that expected the
/// current version still does.
pub(super) fn with_versions_kept_current(
    schedule: &Schedule,
    dropped: impl Fn(usize) -> bool,
) -> Schedule {
    let (mut before, mut after) = (StoreModel::default(), StoreModel::default());
    let mut operations = Vec::new();
    for (index, entry) in schedule.operations.iter().enumerate() {
        let mut entry: Entry = entry.clone();
        let original = entry.operation.clone();
        if !dropped(index) {
            if let Operation::Promote(promote) = &mut entry.operation {
                let version = |model: &StoreModel| Some(model.session(&promote.session)?.version);
                if let (Some(was), Some(is)) = (version(&before), version(&after)) {
                    // The distance is kept, so that what was stale stays as stale.
                    promote.expected = promote.expected.wrapping_sub(was).wrapping_add(is);
                }
            }
            let _ = after.step(&entry.operation);
            operations.push(entry);
        }
        let _ = before.step(&original);
    }
    let mut kept = schedule.clone();
    kept.retain(|index| !dropped(index));
    kept.with_operations(operations)
}

//! Simplifying how operations overlap: fewer faults, and fewer turns.

use stagefault_models::{Interleaving, Namespaces};

use super::{Ended, Progress, Search};

impl<N: Namespaces, P: FnMut(Progress)> Search<'_, N, P> {
    /// Drops faults, one after the other.
    pub(super) async fn drop_faults(&mut self) -> Result<(), Ended> {
        for index in 0..self.best.schedule.operations.len() {
            let mut candidate = self.best.schedule.clone();
            candidate.operations[index].fault = None;
            self.keep(candidate).await?;
        }
        Ok(())
    }

    /// Drops runs of turns, from half of them down to single ones. What has no turn of its
    /// own goes to its end when its time comes.
    pub(super) async fn drop_turns(&mut self) -> Result<(), Ended> {
        let mut length = self.turns().len().div_ceil(2);
        while length > 0 {
            let mut end = self.turns().len();
            while end > 0 {
                let start = end.saturating_sub(length);
                let mut turns = self.turns().to_vec();
                turns.drain(start..end);
                let mut candidate = self.best.schedule.clone();
                candidate.interleaving = Some(Interleaving::Turns(turns));
                self.keep(candidate).await?;
                end = start.min(self.turns().len());
            }
            length /= 2;
        }
        Ok(())
    }

    fn turns(&self) -> &[u32] {
        match &self.best.schedule.interleaving {
            Some(Interleaving::Turns(turns)) => turns,
            _ => &[],
        }
    }
}

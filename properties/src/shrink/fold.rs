//! Folding two operations into one that does what both did.
//!
//! Dropping alone ends at schedules in which every operation is of some use and yet most of
//! them are not needed: a message appended for the sake of a conflict that a promote could
//! have within itself, or changes staged that the promote could bring along.

use stagefault_models::{Namespaces, Operation, Promote, Stage};

use super::drop::with_versions_kept_current;
use super::{Ended, Progress, Search};

/// Schedules of up to this many operations are searched for pairs to fold.
const FOLDED_UP_TO: usize = 16;

impl<N: Namespaces, P: FnMut(Progress)> Search<'_, N, P> {
    /// Folds operations into later ones, as long as that succeeds.
    pub(super) async fn fold(&mut self) -> Result<(), Ended> {
        let mut earlier = 0;
        while earlier < self.best.schedule.operations.len().min(FOLDED_UP_TO) {
            let mut later = earlier + 1;
            let mut folded = false;
            while later < self.best.schedule.operations.len().min(FOLDED_UP_TO) && !folded {
                folded = self.fold_into(earlier, later).await?;
                later += 1;
            }
            if !folded {
                earlier += 1;
            }
        }
        Ok(())
    }

    async fn fold_into(&mut self, earlier: usize, later: usize) -> Result<bool, Ended> {
        let operations = &self.best.schedule.operations;
        let (first, second) = (&operations[earlier].operation, &operations[later].operation);
        let Some(both) = folded(first, second) else { return Ok(false) };
        let mut plain = self.best.schedule.clone();
        plain.operations[later].operation = both;
        let current = with_versions_kept_current(&plain, |index| index == earlier);
        plain.retain(|index| index != earlier);
        Ok(self.keep(plain).await? || self.keep(current).await?)
    }
}

/// One operation that does what both did, of the kind of the second.
fn folded(first: &Operation, second: &Operation) -> Option<Operation> {
    use Operation::{AppendMessages, Promote as Promoted, Stage as Staged};
    if first.session() != second.session() {
        return None;
    }
    Some(match (first, second) {
        (Staged(first), Staged(second)) if first.step == second.step => {
            let changes = [&first.changes[..], &second.changes[..]].concat();
            Staged(Stage { changes: changes.into(), ..second.clone() })
        }
        (Staged(first), Promoted(second)) if first.step == second.step => {
            let changes = [&first.changes[..], &second.changes[..]].concat();
            Promoted(Promote { changes, ..second.clone() })
        }
        (Promoted(first), Promoted(second)) => Promoted(Promote {
            changes: [&first.changes[..], &second.changes[..]].concat(),
            messages: [&first.messages[..], &second.messages[..]].concat(),
            status: second.status.or(first.status),
            ..second.clone()
        }),
        (AppendMessages { messages: first, .. }, Promoted(second)) => {
            let messages = [&first[..], &second.messages[..]].concat();
            Promoted(Promote { messages, ..second.clone() })
        }
        (AppendMessages { messages: first, session }, AppendMessages { messages: second, .. }) => {
            let messages = [&first[..], &second[..]].concat();
            AppendMessages { session: session.clone(), messages }
        }
        _ => return None,
    })
}

//! Simplifying how operations overlap and what they meet: fewer faults, earlier and simpler
//! ones, and fewer turns.

use stagefault_models::{Fault, FaultKind, Interleaving, Namespaces, Point};

use super::runs::Runs;
use super::{Ended, Progress, Search};

impl<N: Namespaces, P: FnMut(Progress)> Search<'_, N, P> {
    /// Drops faults, from half of them down to single ones.
    pub(super) async fn drop_faults(&mut self) -> Result<(), Ended> {
        let mut runs = Runs::of(self.tormented().len());
        while let Some(run) = runs.next(self.tormented().len()) {
            let mut candidate = self.best.schedule.clone();
            for index in &self.tormented()[run] {
                candidate.operations[*index].fault = None;
            }
            self.keep(candidate).await?;
        }
        Ok(())
    }

    /// The operations that have a fault.
    fn tormented(&self) -> Vec<usize> {
        let operations = self.best.schedule.operations.iter().enumerate();
        operations.filter(|(_, entry)| entry.fault.is_some()).map(|(index, _)| index).collect()
    }

    /// Moves faults that are done for real to earlier points, and makes them simpler.
    pub(super) async fn simplify_faults(&mut self) -> Result<(), Ended> {
        let mut index = 0;
        while index < self.best.schedule.operations.len() {
            let fault = self.best.schedule.operations[index].fault;
            for simpler in fault.map(simpler).unwrap_or_default() {
                let mut candidate = self.best.schedule.clone();
                candidate.operations[index].fault = Some(simpler);
                if self.keep(candidate).await? {
                    break;
                }
            }
            index += 1;
        }
        Ok(())
    }

    /// Calls the operations one after the other, where writers run freely.
    pub(super) async fn call_in_order(&mut self) -> Result<(), Ended> {
        if self.best.schedule.interleaving == Some(Interleaving::Free) {
            let mut candidate = self.best.schedule.clone();
            candidate.interleaving = Some(Interleaving::Turns(Vec::new()));
            self.keep(candidate).await?;
        }
        Ok(())
    }

    /// Drops runs of turns, from half of them down to single ones. What has no turn of its
    /// own goes to its end when its time comes.
    pub(super) async fn drop_turns(&mut self) -> Result<(), Ended> {
        let mut runs = Runs::of(self.turns().len());
        while let Some(run) = runs.next(self.turns().len()) {
            let mut turns = self.turns().to_vec();
            turns.drain(run);
            let mut candidate = self.best.schedule.clone();
            candidate.interleaving = Some(Interleaving::Turns(turns));
            self.keep(candidate).await?;
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

/// The points of every operation, the earlier first; those of statements are added.
const POINTS: [Point; 8] = [
    Point::Acquire,
    Point::Begin,
    Point::Statement(1),
    Point::BeforeCommit,
    Point::CommitSent,
    Point::CommitDelivered,
    Point::MidReply,
    Point::Reply,
];

/// Kinds that break as little as possible, the simplest first: of the connection, and then of
/// the server.
const KINDS: [FaultKind; 5] = [
    FaultKind::CallerGone,
    FaultKind::Close,
    FaultKind::Reset,
    FaultKind::Terminate,
    FaultKind::ServerStop,
];

/// Faults that are simpler than one that is done for real, the simplest first: the same kind
/// at an earlier point, or a simpler kind there. One that cannot be done does not fire, and so
/// shows nothing.
fn simpler(fault: Fault) -> Vec<Fault> {
    let Fault::At { point, kind } = fault else { return Vec::new() };
    let at = |point, kind| Fault::At { point, kind };
    let earlier = POINTS.into_iter().filter(|earlier| *earlier < point);
    let before = KINDS.iter().position(|simple| *simple == kind).unwrap_or(KINDS.len());
    let kinds = KINDS[..before].iter();
    kinds.map(|simple| at(point, *simple)).chain(earlier.map(|point| at(point, kind))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simpler_faults_come_to_an_end() {
        let mut faults = vec![Fault::At { point: Point::Reply, kind: FaultKind::ServerKill }];
        let mut steps = 0;
        while let Some(fault) = faults.pop() {
            let simpler = simpler(fault);
            assert!(!simpler.contains(&fault), "{fault:?}");
            // The last is the least simple, hence the longest way.
            faults.extend(simpler.last());
            steps += 1;
            assert!(steps < 100, "no end at {fault:?}");
        }
        assert!(steps > 8, "{steps}");
        assert!(simpler(Fault::UnknownAfter).is_empty());
    }
}

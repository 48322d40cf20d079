//! Faults that are done for real: which are possible, and how often each is planned.
//!
//! A backend that does faults to its operations says which it can do ([`Available`]). How often each is planned is data, as everything in a
//! [`profile`](crate::profile): one table of weights, by kind and point. A fault that
//! costs a restart of the server, or a whole deadline, is planned less often, and one at
//! the beginning of a transaction, which only sweeps have that find something, more often.

use stagefault_chaos::torment::Available;
use stagefault_models::{Fault, FaultKind, OperationKind, Point};

use crate::choices::Choices;

/// Every kind of fault, and its relative weight at each point.
#[rustfmt::skip]
static WEIGHTS: &[(FaultKind, [u32; 8])] = &[
    //                              acquire
    //                              |   begin
    //                              |   |  statement
    //                              |   |  |  before commit
    //                              |   |  |  |  commit sent
    //                              |   |  |  |  |  commit delivered
    //                              |   |  |  |  |  |  mid reply
    //                              |   |  |  |  |  |  |  reply
    (FaultKind::Terminate,        [4, 16, 8, 8, 8, 8, 8, 4]),
    (FaultKind::CallerGone,       [4, 16, 8, 8, 8, 8, 8, 4]),
    (FaultKind::Reset,            [4, 16, 8, 8, 8, 8, 8, 4]),
    (FaultKind::Close,            [4, 16, 8, 8, 8, 8, 8, 4]),
    (FaultKind::BlackHole,        [1,  4, 1, 1, 1, 1, 1, 1]),
    (FaultKind::Delay,            [2,  8, 2, 2, 2, 2, 2, 2]),
    (FaultKind::Truncate,         [4, 16, 8, 8, 8, 8, 8, 4]),
    (FaultKind::Trickle,          [2,  8, 2, 2, 2, 2, 2, 2]),
    (FaultKind::ServerKill,       [1,  4, 1, 1, 1, 1, 1, 1]),
    (FaultKind::ServerStop,       [1,  4, 1, 1, 1, 1, 1, 1]),
    (FaultKind::LockTimeout,      [1,  4, 1, 1, 1, 1, 1, 1]),
    (FaultKind::StatementTimeout, [1,  4, 1, 1, 1, 1, 1, 1]),
    (FaultKind::IdleTimeout,      [2,  8, 2, 2, 2, 2, 2, 2]),
    (FaultKind::Serialization,    [4, 16, 8, 8, 8, 8, 8, 4]),
    (FaultKind::Deadlock,         [2,  8, 2, 2, 2, 2, 2, 2]),
    (FaultKind::DiskFull,         [1,  4, 1, 4, 1, 1, 1, 1]),
];

/// The column of a point.
fn column(point: Point) -> usize {
    match point {
        Point::Acquire => 0,
        Point::Begin => 1,
        Point::Statement(_) => 2,
        Point::BeforeCommit => 3,
        Point::CommitSent => 4,
        Point::CommitDelivered => 5,
        Point::MidReply => 6,
        Point::Reply => 7,
    }
}

fn weight(point: Point, kind: FaultKind) -> u32 {
    let row = WEIGHTS.iter().find(|(weighed, _)| *weighed == kind);
    row.map_or(0, |(_, points)| points[column(point)])
}

/// Plans the faults of operations.
#[derive(Clone, Debug)]
pub struct Planner {
    /// For each kind of operation the faults that it can meet, with the sum of the weights
    /// up to each.
    by_operation: Vec<Vec<(u32, Fault)>>,
}

impl Planner {
    /// Plans what can be done there.
    pub fn new(available: Available) -> Self {
        let faults =
            available.all().map(|possible| (possible.operation, possible.point, possible.kind));
        Planner::of(faults)
    }

    fn of(faults: impl IntoIterator<Item = (OperationKind, Point, FaultKind)>) -> Self {
        let mut by_operation = vec![Vec::new(); OperationKind::ALL.len()];
        for (operation, point, kind) in faults {
            let faults: &mut Vec<(u32, Fault)> = &mut by_operation[operation as usize];
            let sum = faults.last().map_or(0, |(sum, _)| *sum) + weight(point, kind);
            faults.push((sum, Fault::At { point, kind }));
        }
        Planner { by_operation }
    }

    /// A fault for an operation of this kind, if it can meet one.
    pub fn choose<C: Choices + ?Sized>(
        &self,
        operation: OperationKind,
        choices: &mut C,
    ) -> Option<Fault> {
        let faults = &self.by_operation[operation as usize];
        let (sum, _) = faults.last()?;
        let chosen = choices.below(*sum);
        faults.iter().find(|(sum, _)| chosen < *sum).map(|(_, fault)| *fault)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    #[test]
    fn every_kind_has_weights() {
        for (kind, weights) in WEIGHTS {
            assert_eq!(WEIGHTS.iter().filter(|(other, _)| other == kind).count(), 1, "{kind:?}");
            assert!(weights.iter().sum::<u32>() > 0, "{kind:?}");
        }
        assert_eq!(WEIGHTS.len(), FaultKind::DiskFull as usize + 1);
    }

    #[test]
    fn only_what_is_possible_is_planned_and_as_often_as_it_weighs() {
        let often = (OperationKind::Promote, Point::Statement(2), FaultKind::Reset);
        let seldom = (OperationKind::Promote, Point::BeforeCommit, FaultKind::ServerKill);
        let planner = Planner::of([often, seldom]);
        let mut choices = SmallRng::seed_from_u64(1);
        let mut counts = [0, 0];
        for _ in 0..900 {
            match planner.choose(OperationKind::Promote, &mut choices) {
                Some(Fault::At { kind: FaultKind::Reset, .. }) => counts[0] += 1,
                Some(Fault::At { kind: FaultKind::ServerKill, .. }) => counts[1] += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!((700..880).contains(&counts[0]) && counts[1] > 20, "{counts:?}");
        assert_eq!(planner.choose(OperationKind::Load, &mut choices), None);
    }
}

//! The flaws that only writers at the same time can show: one after another, their
//! operations hold. Where each has its moment, the store says that has it.

use stagefault_models::{Interleaving, Invariant, Operation, Schedule};
use stagefault_stores::flaws::Flaw;

use super::{Entry, Lane};
use crate::script::{cleanup, create, expire_calls, overlapping, promote, register, stage, submit};

/// Every flaw that needs a concurrent lane.
pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        flaw: Flaw::SweepOfOneUpdate,
        case: None,
        invariant: Invariant::CallLifecycle,
        lane: Lane::Concurrent,
        stores: &["postgres"],
        shortest: registered_and_submitted_in_a_sweep,
    },
    Entry {
        flaw: Flaw::SweepLocksInTheWrite,
        case: None,
        invariant: Invariant::CallLifecycle,
        lane: Lane::Concurrent,
        stores: &["postgres"],
        shortest: registered_and_submitted_in_a_sweep,
    },
    Entry {
        flaw: Flaw::PromoteGuardedByVersion,
        case: Some("C01"),
        invariant: Invariant::StagingCleanup,
        lane: Lane::Concurrent,
        stores: &["postgres"],
        shortest: staged_in_a_promote,
    },
];

/// The promote has read (its second turn ends there) when the other writer stages. A call
/// staged before the promote is applied by it, and one after it is refused; this one is
/// neither.
fn staged_in_a_promote() -> Schedule {
    let (created, staged) = ([0; 4], [2; 4]);
    let turns = [&created[..], &[1; 2], &staged].concat();
    overlapping(
        Interleaving::Turns(turns),
        [(0, create("s")), (0, promote("s", "a", 1)), (1, stage("s", "a", "c", 1, []))],
    )
}

/// A cleanup holds session "s", which it removes, when a sweep comes: it waits there, having
/// looked. Meanwhile a second call is registered with session "t", and then the first one
/// submitted. A sweep that expires neither of them came before the one and after the other.
fn registered_and_submitted_in_a_sweep() -> Schedule {
    const ENOUGH: usize = 8;
    // The cleanup has removed the session, and not committed; the sweep has sent its write.
    const HOLDS: usize = 5;
    const WAITS: usize = 3;
    let expires = Operation::CreateSession { session: "s".into(), expires_at: Some(1) };
    let before = (0..4).flat_map(|place| [place; ENOUGH]);
    let turns = before.chain([4; HOLDS]).chain([5; WAITS]);
    let turns = turns.chain([6; ENOUGH]).chain([7; ENOUGH]).collect();
    overlapping(
        Interleaving::Turns(turns),
        [
            (0, expires),
            (0, register("s", "c", "r", 1)),
            (0, create("t")),
            (0, register("t", "c", "r", 1)),
            (0, cleanup(1, 0)),
            (1, expire_calls(1)),
            (2, register("t", "d", "r", 1)),
            (2, submit("t", "c", "r", 1, 0)),
        ],
    )
}

//! The flaws that only writers at the same time can show: one after another, their
//! operations hold. Where each has its moment, the store says that has it.

use stagefault_models::{Interleaving, Invariant, Schedule};
use stagefault_stores::flaws::Flaw;

use super::{Entry, Lane};
use crate::script::{create, expire_calls, overlapping, promote, register, stage, submit};

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

/// While writer 0 sweeps, writer 1 registers a second call and then submits the first. A
/// sweep that expires neither of them came before the one and after the other.
fn registered_and_submitted_in_a_sweep() -> Schedule {
    overlapping(
        Interleaving::Free,
        [
            (0, create("s")),
            (0, register("s", "c", "r", 1)),
            (0, expire_calls(1)),
            (1, register("s", "d", "r", 1)),
            (1, submit("s", "c", "r", 1, 0)),
        ],
    )
}

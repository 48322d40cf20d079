//! The races that every store can have: an operation looks first and writes afterwards,
//! and another one comes in between.

use stagefault_models::{Interleaving, Invariant, Operation, Schedule, Status};
use stagefault_stores::flaws::Flaw;

use super::{EVERY_STORE, Entry, Lane};
use crate::script::{
    append, begin_run, cleanup, consume_interrupt, create, discard, expire_calls, load, message,
    overlapping, promote, promote_with, register, request_interrupt, set_status, stage, submit,
    touch,
};

const fn race(
    flaw: Flaw,
    case: Option<&'static str>,
    invariant: Invariant,
    shortest: fn() -> Schedule,
) -> Entry {
    Entry { flaw, case, invariant, lane: Lane::Concurrent, stores: EVERY_STORE, shortest }
}

/// Every race.
#[rustfmt::skip]
pub(super) static ENTRIES: &[Entry] = &[
    race(Flaw::CreateChecksFirst, Some("C16"), Invariant::Truth, || {
        between([], create("s"), create("s"))
    }),
    race(Flaw::LoadInParts, None, Invariant::VersionMonotonicity, || {
        between([create("s")], load("s"), promote_with("s", "a", 1, [], [message("m", 1)]))
    }),
    race(Flaw::StageChecksFirst, Some("C01"), Invariant::StagingCleanup, || {
        between([create("s")], stage("s", "a", "c", 1, []), promote("s", "a", 1))
    }),
    race(Flaw::DiscardCountsFirst, None, Invariant::StagingCleanup, || {
        between([create("s")], discard("s", "a"), stage("s", "a", "c", 1, []))
    }),
    race(Flaw::PromoteChecksFirst, Some("C22"), Invariant::VersionMonotonicity, || {
        between([create("s")], promote("s", "a", 1), promote("s", "b", 1))
    }),
    race(Flaw::AppendChecksFirst, Some("C41"), Invariant::AppendIdempotency, || {
        let (first, second) = (append("s", [message("m", 1)]), append("s", [message("n", 1)]));
        between([create("s")], first, second)
    }),
    race(Flaw::StatusComparedFirst, Some("C22"), Invariant::VersionMonotonicity, || {
        let set = || set_status("s", [Status::Active], Status::Failed);
        between([create("s")], set(), set())
    }),
    race(Flaw::RunsCountedFirst, Some("C23"), Invariant::Coordination, || {
        between([create("s")], begin_run("s", "a"), begin_run("s", "b"))
    }),
    race(Flaw::InterruptSeenFirst, Some("C17"), Invariant::Coordination, || {
        let take = || consume_interrupt("s");
        between([create("s"), request_interrupt("s")], take(), take())
    }),
    race(Flaw::RegisterChecksFirst, Some("C13"), Invariant::CallLifecycle, || {
        between([create("s")], register("s", "c", "r", 9), register("s", "c", "r", 8))
    }),
    race(Flaw::SubmitChecksFirst, Some("C09"), Invariant::CallLifecycle, || {
        let submit = |result| submit("s", "c", "r", result, 1);
        between([create("s"), register("s", "c", "r", 9)], submit(1), submit(2))
    }),
    race(Flaw::ExpiryListsFirst, Some("C19"), Invariant::CallLifecycle, || {
        between([create("s"), register("s", "c", "r", 1)], expire_calls(1), expire_calls(1))
    }),
    race(Flaw::CleanupListsFirst, Some("C37"), Invariant::Truth, || {
        between([create("s"), touch("s", Some(1))], cleanup(1, 0), touch("s", None))
    }),
    race(Flaw::StagingListedFirst, None, Invariant::StagingCleanup, || {
        let staged = |at| stage("s", "a", "c", at, []);
        between([create("s"), staged(1)], cleanup(1, 0), staged(2))
    }),
];

/// The first operations one after the other; then one that looks, and before it writes
/// the last one, from its call to its end.
fn between<const N: usize>(first: [Operation; N], looks: Operation, other: Operation) -> Schedule {
    // More turns than any of these needs: those that are too many are passed over.
    const ENOUGH: usize = 8;
    // Its second turn ends where it has looked.
    const LOOKED: usize = 2;
    let place = N as u32;
    let before = (0..place).flat_map(|place| [place; ENOUGH]);
    let turns = before.chain([place; LOOKED]).chain([place + 1; ENOUGH]).collect();
    let entries = first.map(|operation| (0, operation)).into_iter();
    let entries: Vec<_> = entries.chain([(0, looks), (1, other)]).collect();
    overlapping(Interleaving::Turns(turns), entries)
}

//! The flaws that a sequential lane can show: each in every store.

use stagefault_models::{Invariant, Status};
use stagefault_stores::flaws::Flaw;

use super::{EVERY_STORE, Entry, Lane};
use crate::script::{
    append, cleanup, consume_interrupt, create, expire_calls, message, promote, promote_with,
    register, request_interrupt, schedule, set, set_status, stage, submit, touch,
};

/// Every flaw that a sequential lane can show.
pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        flaw: Flaw::VersionNotChecked,
        case: Some("C22"),
        invariant: Invariant::VersionMonotonicity,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), promote("s", "a", 0)]),
    },
    Entry {
        flaw: Flaw::AppendNotIdempotent,
        case: Some("C11"),
        invariant: Invariant::AppendIdempotency,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), append("s", [message("m", 1), message("m", 1)])]),
    },
    Entry {
        flaw: Flaw::StagingNotCleared,
        case: Some("C07"),
        invariant: Invariant::StagingCleanup,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), stage("s", "a", "c", 1, []), promote("s", "a", 1)]),
    },
    Entry {
        flaw: Flaw::OtherStagingCleared,
        case: Some("C05"),
        invariant: Invariant::StagingCleanup,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), stage("s", "b", "c", 1, []), promote("s", "a", 1)]),
    },
    Entry {
        flaw: Flaw::StagingOutlivesItsTime,
        case: Some("C07"),
        invariant: Invariant::StagingCleanup,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), stage("s", "a", "c", 1, []), cleanup(1, 0)]),
    },
    Entry {
        flaw: Flaw::FirstStageKept,
        case: Some("C18"),
        invariant: Invariant::StagingCleanup,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || {
            let again = stage("s", "a", "c", 2, []);
            schedule([create("s"), stage("s", "a", "c", 1, []), again])
        },
    },
    Entry {
        flaw: Flaw::StagingInOrderOfNames,
        case: None,
        invariant: Invariant::Atomicity,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || {
            let late = stage("s", "a", "c1", 2, [set("k", 1)]);
            let early = stage("s", "a", "c2", 1, [set("k", 2)]);
            schedule([create("s"), late, early, promote("s", "a", 1)])
        },
    },
    Entry {
        flaw: Flaw::StepNotClosed,
        case: Some("C15"),
        invariant: Invariant::StagingCleanup,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), promote("s", "a", 1), stage("s", "a", "c", 1, [])]),
    },
    Entry {
        flaw: Flaw::ChangesBeforeMessageConflict,
        case: Some("C14"),
        invariant: Invariant::Atomicity,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || {
            let conflict = [message("m", 1), message("m", 2)];
            schedule([create("s"), promote_with("s", "a", 1, [set("k", 1)], conflict)])
        },
    },
    Entry {
        flaw: Flaw::DeadlineIgnored,
        case: Some("C38"),
        invariant: Invariant::CallLifecycle,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || {
            schedule([create("s"), register("s", "c", "r", 1), submit("s", "c", "r", 1, 1)])
        },
    },
    Entry {
        flaw: Flaw::FenceIgnored,
        case: Some("C40"),
        invariant: Invariant::CallLifecycle,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || {
            schedule([create("s"), register("s", "c", "b", 9), submit("s", "c", "a", 1, 1)])
        },
    },
    Entry {
        flaw: Flaw::SecondResultWins,
        case: Some("C09"),
        invariant: Invariant::CallLifecycle,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || {
            let (first, second) = (submit("s", "c", "r", 1, 1), submit("s", "c", "r", 2, 1));
            schedule([create("s"), register("s", "c", "r", 9), first, second])
        },
    },
    Entry {
        flaw: Flaw::RegistrationReopens,
        case: Some("C13"),
        invariant: Invariant::CallLifecycle,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || {
            let register = || register("s", "c", "r", 1);
            schedule([create("s"), register(), expire_calls(1), register()])
        },
    },
    Entry {
        flaw: Flaw::ExpiredTwice,
        case: Some("C19"),
        invariant: Invariant::CallLifecycle,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || {
            schedule([create("s"), register("s", "c", "r", 1), expire_calls(1), expire_calls(1)])
        },
    },
    Entry {
        flaw: Flaw::StatusNotCompared,
        case: Some("C22"),
        invariant: Invariant::Coordination,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), set_status("s", [Status::Failed], Status::Completed)]),
    },
    Entry {
        flaw: Flaw::InterruptNotCleared,
        case: Some("C17"),
        invariant: Invariant::Coordination,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), request_interrupt("s"), consume_interrupt("s")]),
    },
    Entry {
        flaw: Flaw::ExpiryNotCleared,
        case: Some("C37"),
        invariant: Invariant::Coordination,
        lane: Lane::Sequential,
        stores: EVERY_STORE,
        shortest: || schedule([create("s"), touch("s", Some(1)), touch("s", None)]),
    },
];

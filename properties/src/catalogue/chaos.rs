//! The flaws that nothing shows but a fault that is done for real: a connection that breaks, a
//! caller that goes away, a deadline, a lock or a crash at the wrong moment. Without one their
//! operations hold, one after another and overlapping.

use stagefault_models::{Fault, FaultKind, Invariant, Operation, Point, Schedule};
use stagefault_stores::flaws::Flaw;

use super::{Entry, Lane};
use crate::script::{
    append, cleanup, create, load, message, promote, promote_with, schedule, set, stage, touch,
};

const POSTGRES: &[&str] = &["postgres"];
const SQL: &[&str] = &["sqlite", "postgres"];

const fn fault(
    flaw: Flaw,
    case: Option<&'static str>,
    invariant: Invariant,
    stores: &'static [&'static str],
    shortest: fn() -> Schedule,
) -> Entry {
    Entry { flaw, case, invariant, lane: Lane::Chaos, stores, shortest }
}

/// Every flaw that needs a fault.
#[rustfmt::skip]
pub(super) static ENTRIES: &[Entry] = &[
    fault(Flaw::CommitErrorNotApplied, Some("C42"), Invariant::Truth, POSTGRES, || {
        created(Point::CommitDelivered, FaultKind::Reset)
    }),
    fault(Flaw::ErrorTextMatched, None, Invariant::Truth, POSTGRES, || {
        created(Point::CommitDelivered, FaultKind::Close)
    }),
    fault(Flaw::RetryInDoubt, Some("C15"), Invariant::Truth, POSTGRES, || {
        created(Point::CommitDelivered, FaultKind::Close)
    }),
    fault(Flaw::DoneOnLostCommit, Some("C29"), Invariant::Truth, POSTGRES, || {
        created(Point::CommitSent, FaultKind::Close)
    }),
    fault(Flaw::TimeoutNotApplied, Some("C20"), Invariant::Truth, SQL, || {
        created(Point::CommitDelivered, FaultKind::BlackHole)
    }),
    // The caller has gone when the BEGIN was sent, and before it is answered.
    fault(Flaw::BeginNotGuarded, Some("C26"), Invariant::Durability, SQL, || {
        appended_after_a_cleanup(Point::Begin, FaultKind::CallerGone)
    }),
    fault(Flaw::DroppedTransactionKept, Some("C26"), Invariant::Durability, SQL, || {
        appended_after_a_cleanup(Point::Statement(2), FaultKind::CallerGone)
    }),
    fault(Flaw::FailedTransactionKept, Some("C27"), Invariant::Liveness, POSTGRES, || {
        appended_after_a_cleanup(Point::Begin, FaultKind::LockTimeout)
    }),
    // The second cleanup comes between the look of the first one and its transaction. That is
    // no fault; and what it leaves, no answer shows.
    fault(Flaw::IdleLeftInTransaction, None, Invariant::Liveness, POSTGRES, || {
        schedule([create("s"), stage("s", "a", "c", 1, []), cleanup(1, 0), cleanup(1, 0)])
    }),
    // After its fourth statement comes the one that appends.
    fault(Flaw::ErrorSwallowed, Some("C28"), Invariant::Truth, POSTGRES, || {
        promoted(Point::Statement(4), FaultKind::LockTimeout)
    }),
    fault(Flaw::ResultTakenForCommit, Some("C28"), Invariant::Truth, POSTGRES, || {
        created(Point::BeforeCommit, FaultKind::DiskFull)
    }),
    fault(Flaw::StatementByStatement, Some("C30"), Invariant::Atomicity, POSTGRES, || {
        promoted(Point::Statement(2), FaultKind::Terminate)
    }),
    fault(Flaw::StatementReplayedOutside, Some("C30"), Invariant::Atomicity, POSTGRES, || {
        promoted(Point::Statement(3), FaultKind::Terminate)
    }),
    fault(Flaw::BrokenLinkKept, Some("C03"), Invariant::Liveness, POSTGRES, || {
        at(1, Point::Acquire, FaultKind::Terminate, [create("s"), load("s"), load("s")])
    }),
    fault(Flaw::ErrorRefused, None, Invariant::Truth, POSTGRES, || {
        at(1, Point::Acquire, FaultKind::Terminate, [create("s"), load("s")])
    }),
    fault(Flaw::CommitNotFlushed, Some("C36"), Invariant::Durability, POSTGRES, || {
        created(Point::Reply, FaultKind::ServerKill)
    }),
    // Only in memory is a reader in the way of a commit, and no lane runs there: the store's own
    // tests show it. No lane of chaos breaks a file.
    fault(Flaw::BusyAtCommitLeftOpen, Some("C31"), Invariant::Durability, &["sqlite"], || {
        let operations = [create("s"), promote("s", "a", 1), touch("s", Some(1))];
        at(1, Point::BeforeCommit, FaultKind::LockTimeout, operations)
    }),
];

/// The operation of this number, from 0, meets the fault.
fn at<const N: usize>(
    number: usize,
    point: Point,
    kind: FaultKind,
    operations: [Operation; N],
) -> Schedule {
    let mut schedule = schedule(operations);
    schedule.operations[number].fault = Some(Fault::At { point, kind });
    schedule
}

fn created(point: Point, kind: FaultKind) -> Schedule {
    at(0, point, kind, [create("s")])
}

fn promoted(point: Point, kind: FaultKind) -> Schedule {
    let promote = promote_with("s", "a", 1, [set("k", 1)], [message("m", 1)]);
    at(1, point, kind, [create("s"), promote])
}

fn appended_after_a_cleanup(point: Point, kind: FaultKind) -> Schedule {
    let (staged, appended) = (stage("s", "a", "c", 1, []), append("s", [message("m", 1)]));
    at(2, point, kind, [create("s"), staged, cleanup(1, 0), appended])
}

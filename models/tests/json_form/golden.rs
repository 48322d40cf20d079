//! One file for each format version, written once and never again.
//!
//! They hold every operation and every completion, at the edges of what each can hold. A
//! build that writes them otherwise writes another format, and must call it another version.

use std::collections::BTreeSet;

use stagefault_models::contract::MAX_TIME;
use stagefault_models::{
    Call, CallState, Cause, CleanedStaging, Completion, CompletionKind, Entry, ExpiredCall,
    Failure, Fault, FaultKind, Interleaving, Operation, OperationKind, Origin, Point, Promote,
    Reason, Refusal, Reply, Resolution, Schedule, Snapshot, StagedMark, Status, Value,
};

use crate::words::*;

const SCHEDULE_1: &str = include_str!("../golden/schedule-1.json");
const CONCURRENT_1: &str = include_str!("../golden/schedule-1-concurrent.json");
const COMPLETIONS_1: &str = include_str!("../golden/completions-1.json");

#[test]
fn a_schedule_of_version_1_is_written_as_ever() {
    assert_eq!(schedule().to_json(), SCHEDULE_1);
}

#[test]
fn a_schedule_of_version_1_is_read_as_ever() {
    assert_eq!(Schedule::from_json(SCHEDULE_1).expect("version 1"), schedule());
}

#[test]
fn a_concurrent_schedule_of_version_1_is_written_and_read_as_ever() {
    assert_eq!(concurrent().to_json(), CONCURRENT_1);
    assert_eq!(Schedule::from_json(CONCURRENT_1).expect("version 1"), concurrent());
}

#[test]
fn completions_of_version_1_are_written_as_ever() {
    let lines: Vec<String> = completions()
        .iter()
        .map(|completion| serde_json::to_string(completion).expect("a completion is JSON"))
        .collect();
    assert_eq!(format!("[\n{}\n]\n", lines.join(",\n")), COMPLETIONS_1);
}

#[test]
fn completions_of_version_1_are_read_as_ever() {
    let read: Vec<Completion> = serde_json::from_str(COMPLETIONS_1).expect("version 1");
    assert_eq!(read, completions());
}

#[test]
fn the_schedule_has_every_operation_once() {
    let kinds: Vec<OperationKind> =
        schedule().operations.iter().map(|entry| entry.operation.kind()).collect();
    assert_eq!(kinds, OperationKind::ALL);
}

#[test]
fn the_completions_have_every_kind_and_every_reply() {
    let completions = completions();
    let kinds: BTreeSet<_> = completions.iter().map(Completion::kind).collect();
    assert_eq!(kinds, BTreeSet::from(CompletionKind::ALL));
    let replies = completions.iter().filter_map(|completion| match completion {
        Completion::Done(reply) => Some(std::mem::discriminant(reply)),
        _ => None,
    });
    // As many replies as operations.
    let distinct = replies.collect::<std::collections::HashSet<_>>().len();
    assert_eq!(distinct, OperationKind::ALL.len());
}

/// A value of every kind, and numbers at the edges of how they are kept.
fn every_value() -> Value {
    let numbers = [
        Value::Integer(i64::MIN),
        Value::Integer(i64::MAX),
        Value::Integer((1 << 53) + 1),
        json("-0.0"),
        json("1e2"),
        json("0.1"),
        json("5e-324"),
        json("-1.7976931348623157e308"),
        json("9223372036854775808"),
    ];
    Value::object([
        ("", Value::Null),
        ("array", json("[[],[true,false]]")),
        ("object", json("{\"b\":{},\"a\":1,\"a\":2}")),
        ("numbers", Value::array(numbers.into())),
        ("text", Value::string("\"\\/\n\u{8}\u{1f}\u{7f}\u{2028}é\u{1f600}")),
    ])
}

fn schedule() -> Schedule {
    let operations = [
        create_until(Some(MAX_TIME)),
        delete(),
        of("\u{1f600}", load()),
        read(u64::MAX, 1000),
        touch(None),
        stage("t", "c", 0, [set("k", every_value()), remove("k"), append_to("k", [])]),
        discard("t"),
        Operation::Promote(Promote {
            status: Some(Status::SuspendedStepPartial),
            changes: vec![append_to("k", [1]), increment("n", i64::MIN)],
            messages: vec![message("m", every_value()), message("n", json("null"))],
            ..promote("t", 1)
        }),
        append([]),
        set_status(Status::ALL, Status::Active),
        begin_run("r"),
        request_interrupt(),
        // Invalid ones can be written as well, so that they are tried.
        of("", consume_interrupt()),
        of("a\0b", register("c", "r", u64::MAX)),
        submit("c", "r", json("{}"), MAX_TIME),
        expire_calls(0),
        cleanup(MAX_TIME, 0),
    ];
    let writers = [0, Schedule::MAX_WRITERS - 1].into_iter().cycle();
    let entry = |(writer, operation)| Entry::new(writer, operation);
    let mut schedule = Schedule::new(writers.zip(operations).map(entry).collect());
    let (lane, store, profile) = ("property".into(), "memory".into(), "default".into());
    schedule.origin = Some(Origin { lane, store, profile, seed: u64::MAX, episode: 0 });
    schedule
}

/// Every fault, every point, every kind, and turns; the faults are told apart by the types.
fn concurrent() -> Schedule {
    let injected = [
        None,
        Some(Fault::NotApplied),
        Some(Fault::UnknownBefore),
        Some(Fault::UnknownAfter),
        Some(Fault::UnknownLate { after: 2 }),
    ];
    let real = points_and_kinds().map(|(point, kind)| Some(Fault::At { point, kind }));
    let faults = injected.into_iter().chain(real);
    let entry = |(writer, fault)| Entry { fault, ..Entry::new(writer, load()) };
    let mut schedule = Schedule::new((0..).zip(faults).map(entry).collect());
    schedule.interleaving = Some(Interleaving::Turns(vec![0, 1, 0, 4, u32::MAX]));
    schedule
}

/// Every point, and every kind at one of them.
fn points_and_kinds() -> impl Iterator<Item = (Point, FaultKind)> {
    let points = [
        Point::Acquire,
        Point::Begin,
        Point::Statement(2),
        Point::BeforeCommit,
        Point::CommitSent,
        Point::CommitDelivered,
        Point::MidReply,
        Point::Reply,
    ];
    points.into_iter().cycle().zip(FaultKind::ALL)
}

fn completions() -> Vec<Completion> {
    let done = replies().into_iter().map(Completion::Done);
    let refused = refusals().into_iter().map(Completion::Refused);
    let failures = [
        Cause::Connection,
        Cause::Deadline,
        Cause::Contention,
        Cause::OutOfSpace,
        Cause::Damaged,
        Cause::Store,
    ]
    .map(|cause| Failure { cause, reason: Reason("text for a reader".into()) });
    let not_applied = failures.clone().into_iter().map(Completion::NotApplied);
    let unknown = failures.into_iter().map(Completion::Unknown);
    done.chain(refused).chain(not_applied).chain(unknown).collect()
}

fn replies() -> [Reply; 18] {
    [
        Reply::Created { version: 1 },
        Reply::Deleted,
        Reply::Snapshot(empty_snapshot().into()),
        Reply::Snapshot(full_snapshot().into()),
        Reply::Page { messages: vec![message("m", every_value())], total: u64::MAX },
        Reply::Touched,
        Reply::Staged,
        Reply::Discarded { calls: 0 },
        Reply::Promoted { version: 2, applied: 1, appended: 0 },
        Reply::Appended { appended: 1, total: 1 },
        Reply::StatusSet { version: 3 },
        Reply::RunBegun { turn: 1 },
        Reply::InterruptRequested,
        Reply::Interrupt { taken: true },
        Reply::Registered,
        Reply::Submitted,
        Reply::CallsExpired(vec![ExpiredCall { session: "s".into(), call: "c".into() }]),
        Reply::Cleaned {
            sessions: vec!["gone".into()],
            staged: vec![CleanedStaging {
                session: "s".into(),
                step: "t".into(),
                call: "c".into(),
            }],
        },
    ]
}

fn empty_snapshot() -> Snapshot {
    stagefault_models::Session::created(None).snapshot()
}

fn full_snapshot() -> Snapshot {
    let call = |state| Call { run: "r".into(), deadline: 10, state };
    Snapshot {
        version: 2,
        status: Status::SuspendedClientTool,
        state: [("k".into(), every_value())].into_iter().collect(),
        message_count: 3,
        staged: vec![StagedMark { step: "t2".into(), call: "c".into(), at: MAX_TIME }],
        calls: [
            ("expired".into(), call(CallState::Expired)),
            ("pending".into(), call(CallState::Pending)),
            ("submitted".into(), call(CallState::Submitted(json("null")))),
        ]
        .into_iter()
        .collect(),
        runs: vec!["r".into(), "q".into()],
        interrupt: true,
        expires_at: Some(0),
        last_step: Some("t1".into()),
    }
}

fn refusals() -> [Refusal; 14] {
    [
        Refusal::InvalidInput(Reason("text for a reader".into())),
        Refusal::SessionNotFound,
        Refusal::SessionExists { version: 1 },
        Refusal::StepClosed,
        Refusal::StaleState { expected: u64::MAX, current: 1 },
        Refusal::StatusMismatch { status: Status::SuspendedAwaitingChildren, version: 1 },
        Refusal::CallConflict,
        Refusal::UnknownCall,
        Refusal::RunFenced { run: "r".into() },
        Refusal::CallResolved { resolution: Resolution::Submitted },
        Refusal::CallResolved { resolution: Resolution::Expired },
        Refusal::CallExpired,
        Refusal::MessageConflict { id: "m".into() },
        Refusal::MergeConflict { key: "k".into() },
    ]
}

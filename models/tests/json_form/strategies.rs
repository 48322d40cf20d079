//! Anything that the contract's types can hold, valid or not.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use stagefault_models::{
    Call, CallState, Cause, Change, CleanedStaging, Completion, Entry, ExpiredCall, Failure, Fault,
    FaultKind, History, Id, Interleaving, Message, Operation, Origin, Point, Promote, Reason,
    Recorded, Refusal, Reply, Resolution, Returned, Schedule, Snapshot, Stage, StagedMark, Status,
    Value,
};

/// Any characters, control characters and those past U+FFFF among them.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        vec(any::<char>(), 0..8).prop_map(String::from_iter),
        vec(select(vec!['a', '"', '\\', '\n', '\0', '\u{2028}', '\u{1f600}']), 0..4)
            .prop_map(String::from_iter),
    ]
}

fn id() -> impl Strategy<Value = Id> {
    prop_oneof![3 => "[a-z]{1,3}".prop_map(Id::from), 1 => text().prop_map(Id::from)]
}

/// Any number, the edges of each representation more often.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, select(vec![(1 << 53) - 1, 1 << 53, u64::MAX]), any::<u64>()]
}

pub fn value() -> impl Strategy<Value = Value> {
    let integers = prop_oneof![any::<i64>(), select(vec![i64::MIN, i64::MAX, (1 << 53) + 1, 0])];
    let floats = prop_oneof![
        any::<f64>(),
        select(vec![0.1, 5e-324, f64::MAX, -0.0, 9_223_372_036_854_775_808.0]),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        integers.prop_map(Value::Integer),
        floats.prop_filter_map("JSON has no infinities", Value::number),
        text().prop_map(Value::string),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::array),
            vec((text(), inner), 0..4).prop_map(Value::object),
        ]
    })
}

pub fn message() -> impl Strategy<Value = Message> {
    (id(), value()).prop_map(|(id, body)| Message { id, body })
}

pub fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (id(), value()).prop_map(|(key, value)| Change::Set { key, value }),
        id().prop_map(|key| Change::Remove { key }),
        (id(), vec(value(), 0..3)).prop_map(|(key, items)| Change::Append { key, items }),
        (id(), any::<i64>()).prop_map(|(key, by)| Change::Increment { key, by }),
    ]
}

pub fn status() -> impl Strategy<Value = Status> {
    select(Status::ALL.to_vec())
}

pub fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![within_a_session(), on_a_step(), on_a_call(), sweep()]
}

fn within_a_session() -> impl Strategy<Value = Operation> {
    let expiry = || option::of(number());
    prop_oneof![
        (id(), expiry())
            .prop_map(|(session, expires_at)| Operation::CreateSession { session, expires_at }),
        id().prop_map(|session| Operation::DeleteSession { session }),
        id().prop_map(|session| Operation::Load { session }),
        (id(), number(), number()).prop_map(|(session, offset, limit)| {
            Operation::ReadMessages { session, offset, limit }
        }),
        (id(), expiry()).prop_map(|(session, expires_at)| Operation::Touch { session, expires_at }),
        (id(), vec(message(), 0..3))
            .prop_map(|(session, messages)| Operation::AppendMessages { session, messages }),
        (id(), vec(status(), 0..3), status()).prop_map(|(session, from, to)| {
            Operation::CompareAndSetStatus { session, from, to }
        }),
        (id(), id()).prop_map(|(session, run)| Operation::BeginRun { session, run }),
        id().prop_map(|session| Operation::RequestInterrupt { session }),
        id().prop_map(|session| Operation::ConsumeInterrupt { session }),
    ]
}

fn on_a_step() -> impl Strategy<Value = Operation> {
    let changes = || vec(change(), 0..3);
    let stage = (id(), id(), id(), number(), changes());
    let promote = (id(), id(), number(), option::of(status()), changes(), vec(message(), 0..3));
    prop_oneof![
        (id(), id()).prop_map(|(session, step)| Operation::Discard { session, step }),
        stage.prop_map(|(session, step, call, at, changes)| {
            Operation::Stage(Stage { session, step, call, at, changes: changes.into() })
        }),
        promote.prop_map(|(session, step, expected, status, changes, messages)| {
            Operation::Promote(Promote { session, step, expected, status, changes, messages })
        }),
    ]
}

fn on_a_call() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (id(), id(), id(), number()).prop_map(|(session, call, run, deadline)| {
            Operation::RegisterCall { session, call, run, deadline }
        }),
        (id(), id(), id(), value(), number()).prop_map(|(session, call, run, result, now)| {
            Operation::SubmitResult { session, call, run, result, now }
        }),
    ]
}

fn sweep() -> impl Strategy<Value = Operation> {
    prop_oneof![
        number().prop_map(|now| Operation::ExpireCalls { now }),
        (number(), number()).prop_map(|(now, staging_ttl)| Operation::Cleanup { now, staging_ttl }),
    ]
}

pub fn snapshot() -> impl Strategy<Value = Snapshot> {
    let call_state = prop_oneof![
        Just(CallState::Pending),
        value().prop_map(CallState::Submitted),
        Just(CallState::Expired),
    ];
    let call = (id(), number(), call_state).prop_map(|(run, deadline, state)| Call {
        run,
        deadline,
        state,
    });
    let mark = (id(), id(), number()).prop_map(|(step, call, at)| StagedMark { step, call, at });
    let counted = (number(), status(), number(), any::<bool>(), option::of(number()));
    let listed = (
        btree_map(id(), value(), 0..3),
        vec(mark, 0..3),
        btree_map(id(), call, 0..3),
        vec(id(), 0..3),
        option::of(id()),
    );
    (counted, listed).prop_map(
        |(
            (version, status, message_count, interrupt, expires_at),
            (state, staged, calls, runs, last_step),
        )| Snapshot {
            version,
            status,
            state: state.into_iter().collect(),
            message_count,
            staged,
            calls: calls.into_iter().collect(),
            runs,
            interrupt,
            expires_at,
            last_step,
        },
    )
}

pub fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![reply_with_data(), reply_with_counts(), bare_reply()]
}

fn reply_with_data() -> impl Strategy<Value = Reply> {
    let expired = (id(), id()).prop_map(|(session, call)| ExpiredCall { session, call });
    let cleaned =
        (id(), id(), id()).prop_map(|(session, step, call)| CleanedStaging { session, step, call });
    prop_oneof![
        snapshot().prop_map(|snapshot| Reply::Snapshot(snapshot.into())),
        (vec(message(), 0..3), number())
            .prop_map(|(messages, total)| Reply::Page { messages, total }),
        vec(expired, 0..3).prop_map(Reply::CallsExpired),
        (vec(id(), 0..3), vec(cleaned, 0..3))
            .prop_map(|(sessions, staged)| Reply::Cleaned { sessions, staged }),
    ]
}

fn reply_with_counts() -> impl Strategy<Value = Reply> {
    prop_oneof![
        number().prop_map(|version| Reply::Created { version }),
        number().prop_map(|calls| Reply::Discarded { calls }),
        (number(), number(), number()).prop_map(|(version, applied, appended)| {
            Reply::Promoted { version, applied, appended }
        }),
        (number(), number()).prop_map(|(appended, total)| Reply::Appended { appended, total }),
        number().prop_map(|version| Reply::StatusSet { version }),
        number().prop_map(|turn| Reply::RunBegun { turn }),
        any::<bool>().prop_map(|taken| Reply::Interrupt { taken }),
    ]
}

fn bare_reply() -> impl Strategy<Value = Reply> {
    select(vec![
        Reply::Deleted,
        Reply::Touched,
        Reply::Staged,
        Reply::InterruptRequested,
        Reply::Registered,
        Reply::Submitted,
    ])
}

pub fn refusal() -> impl Strategy<Value = Refusal> {
    let bare = select(vec![
        Refusal::SessionNotFound,
        Refusal::StepClosed,
        Refusal::CallConflict,
        Refusal::UnknownCall,
        Refusal::CallResolved { resolution: Resolution::Submitted },
        Refusal::CallResolved { resolution: Resolution::Expired },
        Refusal::CallExpired,
    ]);
    prop_oneof![
        bare,
        text().prop_map(|text| Refusal::InvalidInput(Reason(text))),
        number().prop_map(|version| Refusal::SessionExists { version }),
        (number(), number())
            .prop_map(|(expected, current)| Refusal::StaleState { expected, current }),
        (status(), number())
            .prop_map(|(status, version)| Refusal::StatusMismatch { status, version }),
        id().prop_map(|run| Refusal::RunFenced { run }),
        id().prop_map(|id| Refusal::MessageConflict { id }),
        id().prop_map(|key| Refusal::MergeConflict { key }),
    ]
}

pub fn completion() -> impl Strategy<Value = Completion> {
    prop_oneof![
        2 => reply().prop_map(Completion::Done),
        2 => refusal().prop_map(Completion::Refused),
        1 => failure().prop_map(Completion::NotApplied),
        1 => failure().prop_map(Completion::Unknown),
    ]
}

fn failure() -> impl Strategy<Value = Failure> {
    let causes = vec![
        Cause::Connection,
        Cause::Deadline,
        Cause::Contention,
        Cause::OutOfSpace,
        Cause::Damaged,
        Cause::Store,
    ];
    (select(causes), text()).prop_map(|(cause, text)| Failure { cause, reason: Reason(text) })
}

pub fn schedule() -> impl Strategy<Value = Schedule> {
    let origin = (text(), text(), text(), any::<u64>(), any::<u64>()).prop_map(
        |(lane, store, profile, seed, episode)| Origin { lane, store, profile, seed, episode },
    );
    let entry = (0..Schedule::MAX_WRITERS, operation(), option::of(fault()))
        .prop_map(|(writer, operation, fault)| Entry { writer, operation, fault });
    (option::of(origin), option::of(interleaving()), vec(entry, 0..6)).prop_map(
        |(origin, interleaving, operations)| {
            let mut schedule = Schedule::new(operations);
            schedule.origin = origin;
            schedule.interleaving = interleaving;
            schedule
        },
    )
}

fn interleaving() -> impl Strategy<Value = Interleaving> {
    prop_oneof![Just(Interleaving::Free), vec(any::<u32>(), 0..6).prop_map(Interleaving::Turns),]
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::NotApplied),
        Just(Fault::UnknownBefore),
        Just(Fault::UnknownAfter),
        any::<u32>().prop_map(|after| Fault::UnknownLate { after }),
        (point(), kind()).prop_map(|(point, kind)| Fault::At { point, kind }),
    ]
}

fn point() -> impl Strategy<Value = Point> {
    prop_oneof![
        Just(Point::Acquire),
        Just(Point::Begin),
        any::<u32>().prop_map(Point::Statement),
        Just(Point::BeforeCommit),
        Just(Point::CommitSent),
        Just(Point::CommitDelivered),
        Just(Point::MidReply),
        Just(Point::Reply),
    ]
}

fn kind() -> impl Strategy<Value = FaultKind> {
    prop_oneof![
        Just(FaultKind::Terminate),
        Just(FaultKind::CallerGone),
        Just(FaultKind::Truncate),
        Just(FaultKind::ServerKill),
    ]
}

/// Any history: some writers, each with one operation open at a time, on a clock that jumps.
pub fn history() -> impl Strategy<Value = History> {
    let jump = prop_oneof![Just(1u64), 1..1000u64];
    vec((0..4u32, jump, operation(), completion()), 0..24).prop_map(|events| {
        let mut history = History::default();
        let (mut at, mut open) = (0, [None; 4]);
        for (writer, jump, operation, completion) in events {
            at += jump;
            match open[writer as usize].take() {
                None => {
                    open[writer as usize] = Some(history.operations.len());
                    let recorded = Recorded { writer, operation, called: at, returned: None };
                    history.operations.push(recorded);
                }
                Some(place) => {
                    history.operations[place].returned = Some(Returned { at, completion });
                }
            }
        }
        history
    })
}

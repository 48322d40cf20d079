//! Random walks: operations over so few names that they meet each other all the time.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use stagefault_models::{
    Change, Completion, Id, Message, Millis, Operation, Promote, Stage, Status, StoreModel, Value,
};

use super::Scene;
use crate::words;

pub const SESSIONS: [&str; 2] = ["a", "b"];

/// Runs the property on random walks, the same ones each time, and shrinks what fails.
pub fn walks(cases: u32, property: impl Fn(Vec<Operation>) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    if let Err(failure) = runner.run(&vec(operation(), 1..60), property) {
        panic!("{failure}");
    }
}

/// Each step of the walk, as an honest store shows it of each session that it meets.
pub fn scenes(walk: Vec<Operation>) -> impl Iterator<Item = Scene> {
    let mut store = StoreModel::default();
    walk.into_iter().flat_map(move |mut operation| {
        if let Operation::Promote(promote) = &mut operation
            && promote.expected == CURRENT
        {
            promote.expected = store.session(&promote.session).map_or(1, |session| session.version);
        }
        let met = match operation.session() {
            Some(session) => vec![session.clone()],
            None => SESSIONS.map(Id::from).into(),
        };
        let before = store.clone();
        let completion: Completion = store.step(&operation).into();
        let scenes = met.into_iter().map(|session| Scene {
            before: before.session(&session).cloned(),
            after: store.session(&session).map(super::see),
            operation: operation.clone(),
            completion: completion.clone(),
            session,
        });
        scenes.collect::<Vec<_>>()
    })
}

/// A version that stands for whichever is current.
const CURRENT: u64 = 0;

fn operation() -> impl Strategy<Value = Operation> {
    let session = prop_oneof![30 => id(&SESSIONS), 1 => Just(Id::from(""))];
    (session, prop_oneof![life(), steps(), conversation(), client_calls()])
        .prop_map(|(session, operation)| words::of(&session, operation))
}

fn life() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => expiry().prop_map(words::create_until),
        1 => Just(words::delete()),
        1 => Just(words::load()),
        1 => Just(words::read(0, 2)),
        1 => expiry().prop_map(words::touch),
    ]
}

fn steps() -> impl Strategy<Value = Operation> {
    let session = || Id::from("s");
    let stage =
        (step(), call(), time(), vec(change(), 0..3)).prop_map(move |(step, call, at, changes)| {
            let changes = changes.into();
            Operation::Stage(Stage { session: session(), step, call, at, changes })
        });
    let promote = (
        step(),
        select(vec![CURRENT, CURRENT, CURRENT, 1, 2]),
        proptest::option::of(status()),
        vec(change(), 0..3),
        vec(message(), 0..3),
    )
        .prop_map(move |(step, expected, status, changes, messages)| {
            let session = session();
            Operation::Promote(Promote { session, step, expected, status, changes, messages })
        });
    prop_oneof![
        4 => stage,
        3 => promote,
        1 => step().prop_map(|step| words::discard(&step)),
        1 => (time(), 0..4u64).prop_map(|(now, ttl)| words::cleanup(now, ttl)),
    ]
}

fn conversation() -> impl Strategy<Value = Operation> {
    let session = || Id::from("s");
    prop_oneof![
        3 => vec(message(), 0..3).prop_map(move |messages| {
            Operation::AppendMessages { session: session(), messages }
        }),
        2 => (vec(status(), 0..4), status()).prop_map(move |(from, to)| {
            Operation::CompareAndSetStatus { session: session(), from, to }
        }),
        1 => run().prop_map(|run| words::begin_run(&run)),
        1 => Just(words::request_interrupt()),
        1 => Just(words::consume_interrupt()),
    ]
}

fn client_calls() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (call(), run(), time())
            .prop_map(|(call, run, deadline)| words::register(&call, &run, deadline)),
        3 => (call(), run(), body(), time())
            .prop_map(|(call, run, result, now)| words::submit(&call, &run, result, now)),
        1 => time().prop_map(words::expire_calls),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let key = || id(&["k", "l"]);
    prop_oneof![
        2 => (key(), body()).prop_map(|(key, value)| Change::Set { key, value }),
        1 => key().prop_map(|key| Change::Remove { key }),
        3 => (key(), vec(body(), 0..2)).prop_map(|(key, items)| Change::Append { key, items }),
        3 => (key(), -1..2i64).prop_map(|(key, by)| Change::Increment { key, by }),
    ]
}

fn id(names: &[&'static str]) -> impl Strategy<Value = Id> + use<> {
    select(names.to_vec()).prop_map(Id::from)
}

fn step() -> impl Strategy<Value = Id> {
    id(&["t1", "t2"])
}

fn call() -> impl Strategy<Value = Id> {
    id(&["c1", "c2", "c3"])
}

fn run() -> impl Strategy<Value = Id> {
    id(&["r1", "r1", "r2"])
}

fn message() -> impl Strategy<Value = Message> {
    let ids = id(&["m1", "m2", "m3", "m4", "m5", "m6"]);
    let usually_one = prop_oneof![9 => Just(Value::from(1)), 1 => Just(Value::from(2))];
    (ids, usually_one).prop_map(|(id, body)| Message { id, body })
}

fn body() -> impl Strategy<Value = Value> {
    (0..2i64).prop_map(Value::from)
}

fn status() -> impl Strategy<Value = Status> {
    select(Status::ALL.to_vec())
}

fn time() -> impl Strategy<Value = Millis> {
    0..8u64
}

fn expiry() -> impl Strategy<Value = Option<Millis>> {
    proptest::option::weighted(0.3, time())
}

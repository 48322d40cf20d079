//! The store answers what the reference model answers, operation by operation.

use std::collections::BTreeSet;
use std::sync::Arc;

use stagefault_models::audit::compare;
use stagefault_models::{
    Backend, Change, Completion, CompletionKind, Id, Message, Operation, Promote, Stage, Status,
    StoreModel, Value,
};
use stagefault_stores::sqlite::SqliteBackend;

use crate::support::*;
use crate::values::awkward;

/// Choices from a small generator (SplitMix64): the same ones on every machine.
struct Choices {
    state: u64,
    values: Vec<Value>,
}

impl Choices {
    fn new(seed: u64) -> Self {
        Choices { state: seed, values: awkward() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn of<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.below(options.len() as u64) as usize].clone()
    }

    fn some<T>(&mut self, most: u64, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| one(self)).collect()
    }

    fn session(&mut self) -> Id {
        let options: &[&str] = if self.below(40) == 0 { &[""] } else { &["s", "S", "ü"] };
        self.of(options).into()
    }

    fn step(&mut self) -> Id {
        self.of(&["t1", "t2", "t3"]).into()
    }

    fn call(&mut self) -> Id {
        self.of(&["c1", "c2", "😀", "\u{ff5e}"]).into()
    }

    fn run(&mut self) -> Id {
        self.of(&["r1", "r2", "r3"]).into()
    }

    fn time(&mut self) -> u64 {
        if self.below(60) == 0 { u64::MAX } else { self.below(20) }
    }

    fn expiry(&mut self) -> Option<u64> {
        (self.below(3) > 0).then(|| self.time().saturating_add(8))
    }

    fn status(&mut self) -> Status {
        self.of(&Status::ALL)
    }

    fn value(&mut self) -> Value {
        match self.below(3) {
            0 => Value::Integer(self.below(3) as i64),
            1 => Value::array(vec![]),
            _ => {
                let index = self.below(self.values.len() as u64) as usize;
                self.values[index].clone()
            }
        }
    }

    fn change(&mut self) -> Change {
        let key: Id = self.of(&["k1", "k2", "k3"]).into();
        match self.below(8) {
            0 | 1 => Change::Set { key, value: self.value() },
            2 => Change::Remove { key },
            3 | 4 => Change::Append { key, items: self.some(2, Self::value) },
            _ => Change::Increment { key, by: self.of(&[0, 1, -1, i64::MAX, i64::MIN]) },
        }
    }

    fn message(&mut self) -> Message {
        let id = format!("m{}", self.below(40));
        // Mostly one body for each id, or nothing would be appended twice.
        let body = if self.below(12) == 0 { self.value() } else { id.as_str().into() };
        Message { id: id.into(), body }
    }

    fn operation(&mut self, model: &StoreModel) -> Operation {
        let session = self.session();
        let current = model.session(&session).map_or(1, |session| session.version);
        match self.below(34) {
            0..4 => Operation::CreateSession { session, expires_at: self.expiry() },
            4 => Operation::DeleteSession { session },
            5..8 => Operation::Load { session },
            8 | 9 => {
                let (offset, limit) = (self.of(&[0, 1, 7, u64::MAX]), self.of(&[0, 3, 1000, 1001]));
                Operation::ReadMessages { session, offset, limit }
            }
            10 => Operation::Touch { session, expires_at: self.expiry() },
            11..16 => {
                let (step, call, at) = (self.step(), self.call(), self.time());
                let changes = Arc::from(self.some(3, Self::change));
                Operation::Stage(Stage { session, step, call, at, changes })
            }
            16 => Operation::Discard { session, step: self.step() },
            17..22 => {
                let expected = if self.below(8) == 0 { self.of(&[0, u64::MAX]) } else { current };
                let status = (self.below(3) == 0).then(|| self.status());
                let changes = self.some(2, Self::change);
                let (step, messages) = (self.step(), self.some(3, Self::message));
                Operation::Promote(Promote { session, step, expected, status, changes, messages })
            }
            22..24 => Operation::AppendMessages { session, messages: self.some(4, Self::message) },
            24 => {
                let (from, to) = (self.some(4, Self::status), self.status());
                Operation::CompareAndSetStatus { session, from, to }
            }
            25 => Operation::BeginRun { session, run: self.run() },
            26 => Operation::RequestInterrupt { session },
            27 => Operation::ConsumeInterrupt { session },
            28 | 29 => {
                let (call, run) = (self.call(), self.run());
                Operation::RegisterCall { session, call, run, deadline: 10 + self.below(3) }
            }
            30 | 31 => {
                let (call, run, now) = (self.call(), self.run(), self.time());
                Operation::SubmitResult { session, call, run, result: self.value(), now }
            }
            32 => Operation::ExpireCalls { now: self.time() },
            _ => Operation::Cleanup { now: self.time(), staging_ttl: self.time() },
        }
    }
}

/// How many operations a run has.
const OPERATIONS: u32 = 600;

/// Runs random operations on two handles by turns, and holds answers and rows against the model.
async fn agrees(backend: &SqliteBackend, seed: u64, seen: &mut BTreeSet<CompletionKind>) {
    let mut stores = [handle(backend).await, handle(backend).await];
    let (mut choices, mut model) = (Choices::new(seed), StoreModel::default());
    for number in 0..OPERATIONS {
        let operation = choices.operation(&model);
        let writer = choices.below(2) as usize;
        let answer = execute(&mut stores[writer], operation.clone()).await;
        let expected = Completion::from(model.step(&operation));
        seen.insert(expected.kind());
        assert_eq!(answer, expected, "seed {seed}, operation {number}: {operation:?}");
        if number % 25 == 0 {
            let ids: Vec<Id> = model.sessions().map(|(id, _)| id.clone()).collect();
            let audit = backend.audit(&ids).await.expect("an audit");
            let findings = compare(&model, &audit);
            assert!(findings.is_empty(), "seed {seed}, after {operation:?}: {findings:?}");
        }
    }
}

/// A run that never met a refusal has proved nothing about it.
fn is_every_answer(seen: &BTreeSet<CompletionKind>) {
    let failures = [CompletionKind::NotApplied, CompletionKind::Unknown];
    let missing: Vec<_> = CompletionKind::ALL
        .iter()
        .filter(|kind| !failures.contains(kind) && !seen.contains(kind))
        .collect();
    assert!(missing.is_empty(), "never met: {missing:?}");
}

#[tokio::test]
async fn a_file_answers_what_the_model_answers() {
    let mut seen = BTreeSet::new();
    for seed in 0..4 {
        let (_folder, backend) = database().await;
        agrees(&backend, seed, &mut seen).await;
    }
    is_every_answer(&seen);
}

#[tokio::test]
async fn a_database_in_memory_answers_what_the_model_answers() {
    let mut seen = BTreeSet::new();
    for seed in 100..104 {
        let backend = SqliteBackend::in_memory().await.expect("memory");
        agrees(&backend, seed, &mut seen).await;
    }
    is_every_answer(&seen);
}

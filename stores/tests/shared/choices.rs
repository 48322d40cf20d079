//! Pseudo-random operations on few names, so that they meet.

use std::sync::Arc;

use stagefault_models::{
    Change, Id, Message, Operation, Promote, Stage, Status, StoreModel, Value,
};

use super::values::awkward;

/// Choices from a small generator (SplitMix64): the same ones on every machine.
pub struct Choices {
    state: u64,
    values: Vec<Value>,
}

impl Choices {
    pub fn new(seed: u64) -> Self {
        Choices { state: seed, values: awkward() }
    }

    pub fn below(&mut self, bound: u64) -> u64 {
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

    pub fn operation(&mut self, model: &StoreModel) -> Operation {
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

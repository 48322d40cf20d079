//! Histories of the contract as large as a run's: simulated, so they are known to be valid.
//!
//! Some writers send all kinds of operations to some sessions; each happens at one moment
//! between its call and its return. One in a hundred comes back in doubt, having happened,
//! never to happen, or to happen later. Sweeps are rare, and meet every session.

use stagefault_models::model::StoreModel;
use stagefault_models::{
    Cause, Change, Completion, Failure, History, Id, Message, Operation, Promote, Reason, Recorded,
    Reply, Returned, Stage, Status, Value,
};

/// The shape of a history.
#[derive(Clone, Copy)]
pub struct Synthetic {
    pub operations: usize,
    pub sessions: usize,
    pub writers: usize,
    /// How many sessions are worked on at the same time.
    pub at_once: usize,
    /// The most operations in flight on a session.
    pub in_flight: usize,
    /// One in so many comes back in doubt.
    pub doubt: u64,
}

impl Synthetic {
    /// 32 writers on 64 sessions, all the time.
    pub fn spread() -> Self {
        let (operations, sessions, writers) = (100_000, 64, 32);
        Synthetic { operations, sessions, writers, at_once: 64, in_flight: 8, doubt: 100 }
    }

    /// The same, four sessions after the other, so that each has 8 operations in flight.
    pub fn in_turn() -> Self {
        Synthetic { at_once: 4, ..Synthetic::spread() }
    }

    /// One session with 8 writers, and about 10 of 1,000 operations in doubt.
    pub fn one_session() -> Self {
        let (operations, sessions, writers) = (1000, 1, 8);
        Synthetic { operations, sessions, writers, at_once: 1, in_flight: 8, doubt: 100 }
    }

    /// The history, which is linearizable.
    pub fn history(self) -> History {
        Simulation::new(self).run()
    }

    /// The history with one reply that is wrong, three quarters on.
    pub fn with_one_wrong_reply(self) -> History {
        let mut history = self.history();
        let start = history.operations.len() * 3 / 4;
        for recorded in &mut history.operations[start..] {
            let completion = recorded.returned.as_mut().map(|returned| &mut returned.completion);
            if let Some(Completion::Done(Reply::Appended { total, .. })) = completion {
                *total += 1;
                return history;
            }
        }
        unreachable!("some operation appended messages");
    }
}

enum Open {
    Waiting,
    Happened(Completion),
}

struct Simulation {
    shape: Synthetic,
    random: u64,
    clock: u64,
    store: StoreModel,
    history: History,
    open: Vec<Option<(usize, Open)>>,
    in_flight: Vec<usize>,
    late: Vec<usize>,
    ids: Vec<Id>,
}

impl Simulation {
    fn new(shape: Synthetic) -> Self {
        Simulation {
            shape,
            random: 7,
            clock: 0,
            store: StoreModel::default(),
            history: History::default(),
            open: (0..shape.writers).map(|_| None).collect(),
            in_flight: vec![0; shape.sessions],
            late: Vec::new(),
            ids: (0..shape.sessions).map(|session| format!("session-{session}").into()).collect(),
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    fn run(mut self) -> History {
        for id in self.ids.clone() {
            let operation = Operation::CreateSession { session: id, expires_at: None };
            let completion = self.happen(&operation);
            self.clock += 2;
            let returned = Some(Returned { at: self.clock + 1, completion });
            self.history.operations.push(Recorded {
                writer: 0,
                operation,
                called: self.clock,
                returned,
            });
        }
        self.clock += 2;
        while self.history.operations.len() < self.shape.operations
            || self.open.iter().any(Option::is_some)
        {
            let writer = self.below(self.shape.writers as u64) as usize;
            self.turn(writer);
        }
        self.history
    }

    fn turn(&mut self, writer: usize) {
        self.clock += 1;
        if !self.late.is_empty() && self.below(50) == 0 {
            let place = self.late.swap_remove(0);
            self.happen(&self.history.operations[place].operation.clone());
        }
        self.open[writer] = match self.open[writer].take() {
            None => self.call(writer),
            Some((place, Open::Waiting)) if self.below(2 * self.shape.doubt) == 0 => {
                if self.below(2) == 0 {
                    self.late.push(place);
                }
                self.back(place, unknown())
            }
            Some((place, Open::Waiting)) => {
                let completion = self.happen(&self.history.operations[place].operation.clone());
                Some((place, Open::Happened(completion)))
            }
            Some((place, Open::Happened(_))) if self.below(2 * self.shape.doubt) == 0 => {
                self.back(place, unknown())
            }
            Some((place, Open::Happened(completion))) => self.back(place, completion),
        };
    }

    fn happen(&mut self, operation: &Operation) -> Completion {
        self.store.step(operation).into()
    }

    fn back(&mut self, place: usize, completion: Completion) -> Option<(usize, Open)> {
        let recorded = &mut self.history.operations[place];
        recorded.returned = Some(Returned { at: self.clock, completion });
        if let Some(session) = self.session_of(place) {
            self.in_flight[session] -= 1;
        }
        None
    }

    fn session_of(&self, place: usize) -> Option<usize> {
        let id = self.history.operations[place].operation.session()?;
        self.ids.iter().position(|known| known == id)
    }

    fn call(&mut self, writer: usize) -> Option<(usize, Open)> {
        let place = self.history.operations.len();
        if place >= self.shape.operations {
            return None;
        }
        let (count, at_once) = (self.shape.sessions, self.shape.at_once);
        let turn = place * count / at_once / self.shape.operations;
        let session = turn * at_once + self.below(at_once as u64) as usize;
        if self.in_flight[session] >= self.shape.in_flight {
            return None;
        }
        let operation = self.operation(session, place);
        if operation.session().is_some() {
            self.in_flight[session] += 1;
        }
        let (writer, called) = (writer as u32, self.clock);
        self.history.operations.push(Recorded { writer, operation, called, returned: None });
        Some((place, Open::Waiting))
    }

    fn operation(&mut self, session: usize, place: usize) -> Operation {
        let id = self.ids[session].clone();
        let version = self.store.session(&id).map_or(1, |session| session.version);
        let messages = self.store.session(&id).map_or(0, |session| session.messages.len() as u64);
        let step: Id = format!("step-{}", version % 5).into();
        let call: Id = format!("call-{}", self.below(12)).into();
        let run: Id = format!("run-{}", self.below(3)).into();
        let key: Id = format!("key-{}", self.below(6)).into();
        let message = |number: usize| Message {
            id: format!("message-{place}-{number}").into(),
            body: Value::string(format!("body {place}")),
        };
        let session = id;
        match self.below(1000) {
            0 => Operation::ExpireCalls { now: place as u64 },
            1 => Operation::Cleanup { now: place as u64, staging_ttl: 1000 },
            2 => Operation::DeleteSession { session },
            3..=10 => Operation::CreateSession { session, expires_at: None },
            11..=160 => Operation::Load { session },
            161..=210 => {
                let offset = messages.saturating_sub(5);
                Operation::ReadMessages { session, offset, limit: 10 }
            }
            211..=260 => {
                Operation::Touch { session, expires_at: Some(u64::from(u32::MAX) + place as u64) }
            }
            261..=430 => {
                let changes = [Change::Increment { key, by: 1 }].into();
                Operation::Stage(Stage { session, step, call, at: place as u64, changes })
            }
            431..=460 => Operation::Discard { session, step },
            461..=640 => {
                let changes = vec![Change::Set { key, value: Value::Integer(place as i64) }];
                let messages = vec![message(0), message(1)];
                let (expected, status) = (version, None);
                Operation::Promote(Promote { session, step, expected, status, changes, messages })
            }
            641..=780 => Operation::AppendMessages { session, messages: vec![message(0)] },
            781..=830 => {
                let (from, to) = (Status::ALL[..3].to_vec(), Status::ALL[self.below(4) as usize]);
                Operation::CompareAndSetStatus { session, from, to }
            }
            831..=860 => Operation::BeginRun { session, run },
            861..=880 => Operation::RequestInterrupt { session },
            881..=900 => Operation::ConsumeInterrupt { session },
            901..=950 => {
                Operation::RegisterCall { session, call, run, deadline: place as u64 + 500 }
            }
            _ => {
                let (result, now) = (Value::Integer(place as i64), place as u64);
                Operation::SubmitResult { session, call, run, result, now }
            }
        }
    }
}

fn unknown() -> Completion {
    Completion::Unknown(Failure { cause: Cause::Connection, reason: Reason("lost".into()) })
}

//! Where the states of a session are kept, and laid out for the model to work on.
//!
//! The search goes back and forth between states, and keeps many. Each part of a session
//! (its state, staging, calls, runs, its messages) is therefore kept once, and a
//! [`SessionAt`] holds its number. One session lies on the desk; to lay out another state,
//! only the parts that differ are replaced. Messages are a tree of what was appended to what,
//! so going back takes a few off and going on puts a few on.

mod needs;

use std::hash::Hash;

use litemap::LiteMap;

use super::super::pool::Pool;
use crate::model::{Session, SessionState, Staged};
use crate::{Call, Id, Message, Millis, Operation, Status, Value, Version};

/// A session that exists: parts by their number on the desk, where 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionAt {
    version: Version,
    status: Option<Status>,
    interrupt: bool,
    expires_at: Option<Millis>,
    /// One past the number of the step's id; 0: none.
    last_step: u32,
    state: u32,
    staged: u32,
    calls: u32,
    runs: u32,
    messages: u32,
}

/// The parts in bulk that an operation may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    state: bool,
    staged: bool,
    calls: bool,
    runs: bool,
    messages: bool,
}

impl Parts {
    const ALL: Parts = Parts { state: true, staged: true, calls: true, runs: true, messages: true };

    /// Those that the operation may write.
    pub fn of(operation: &Operation) -> Parts {
        let none = Parts::default();
        match operation {
            Operation::CreateSession { .. } | Operation::DeleteSession { .. } => Parts::ALL,
            Operation::Load { .. }
            | Operation::ReadMessages { .. }
            | Operation::Touch { .. }
            | Operation::CompareAndSetStatus { .. }
            | Operation::RequestInterrupt { .. }
            | Operation::ConsumeInterrupt { .. } => none,
            Operation::Stage(_) | Operation::Discard { .. } | Operation::Cleanup { .. } => {
                Parts { staged: true, ..none }
            }
            Operation::Promote(_) => Parts { state: true, staged: true, messages: true, ..none },
            Operation::AppendMessages { .. } => Parts { messages: true, ..none },
            Operation::BeginRun { .. } => Parts { runs: true, ..none },
            Operation::RegisterCall { .. }
            | Operation::SubmitResult { .. }
            | Operation::ExpireCalls { .. } => Parts { calls: true, ..none },
        }
    }
}

/// A number that no part has: what lies there is worth nothing.
const SPOILT: u32 = u32::MAX;

/// All states of one session, and the one that is laid out.
#[derive(Clone)]
pub(super) struct Desk {
    laid_out: SessionState,
    /// What lies there while the session is absent.
    spare: Option<Box<Session>>,
    /// The numbers of the parts that lie there.
    at: SessionAt,
    states: Pool<LiteMap<Id, Value>>,
    staged: Pool<LiteMap<(Id, Id), Staged>>,
    calls: Pool<LiteMap<Id, Call>>,
    runs: Pool<Vec<Id>>,
    steps: Pool<Id>,
    messages: Messages,
    bulk: usize,
}

impl Default for Desk {
    fn default() -> Self {
        Desk::of(Id::from(""))
    }
}

impl Desk {
    /// The empty desk of this session.
    pub fn of(session: Id) -> Self {
        let mut desk = Desk {
            laid_out: SessionState::absent(session),
            spare: None,
            at: SessionAt::default(),
            states: Pool::default(),
            staged: Pool::default(),
            calls: Pool::default(),
            runs: Pool::default(),
            steps: Pool::default(),
            messages: Messages::default(),
            bulk: 0,
        };
        desk.states.number(LiteMap::new());
        desk.staged.number(LiteMap::new());
        desk.calls.number(LiteMap::new());
        desk.runs.number(Vec::new());
        desk
    }

    /// Lays the state out; its messages only where they are needed.
    pub fn lay_out(&mut self, state: &Option<SessionAt>, messages: bool) -> &mut SessionState {
        let Some(state) = state else {
            if let Some(session) = self.laid_out.session.take() {
                self.spare = Some(session);
            }
            return &mut self.laid_out;
        };
        let session = self.laid_out.session.get_or_insert_with(|| {
            self.spare.take().unwrap_or_else(|| {
                self.at = SessionAt::default();
                Box::new(Session::created(None))
            })
        });
        if self.at.state != state.state {
            session.state = self.states.get(state.state).clone();
        }
        if self.at.staged != state.staged {
            session.staged = self.staged.get(state.staged).clone();
        }
        if self.at.calls != state.calls {
            session.calls = self.calls.get(state.calls).clone();
        }
        if self.at.runs != state.runs {
            session.runs.clone_from(self.runs.get(state.runs));
        }
        if self.at.last_step != state.last_step {
            session.last_step =
                state.last_step.checked_sub(1).map(|step| self.steps.get(step).clone());
        }
        session.version = state.version;
        session.status = state.status.unwrap_or(session.status);
        session.interrupt = state.interrupt;
        session.expires_at = state.expires_at;
        let lie_there = self.at.messages;
        self.at = SessionAt { messages: lie_there, ..*state };
        if messages && lie_there != state.messages {
            self.messages.lay_out(&mut session.messages, lie_there, state.messages);
            self.at.messages = state.messages;
        }
        &mut self.laid_out
    }

    /// Keeps the state that the model made of `before`, having written these parts.
    pub fn file(&mut self, before: &Option<SessionAt>, parts: Parts) -> Option<SessionAt> {
        let session = self.laid_out.session.as_deref()?;
        let mut state = before.unwrap_or_else(|| {
            // The model made a new session, and dropped nothing, for it lay aside.
            self.spare = None;
            SessionAt::default()
        });
        if parts.state {
            state.state =
                keep(&mut self.states, &session.state, session.state.len(), &mut self.bulk);
        }
        if parts.staged {
            let length = session.staged.len();
            state.staged = keep(&mut self.staged, &session.staged, length, &mut self.bulk);
        }
        if parts.calls {
            state.calls =
                keep(&mut self.calls, &session.calls, session.calls.len(), &mut self.bulk);
        }
        if parts.runs {
            state.runs = keep(&mut self.runs, &session.runs, session.runs.len(), &mut self.bulk);
        }
        if parts.messages {
            state.messages = self.messages.keep(&session.messages, state.messages);
        }
        state.version = session.version;
        state.status = Some(session.status);
        state.interrupt = session.interrupt;
        state.expires_at = session.expires_at;
        state.last_step =
            session.last_step.as_ref().map_or(0, |step| self.steps.number_of(step) + 1);
        let lie_there = if parts.messages { state.messages } else { self.at.messages };
        self.at = SessionAt { messages: lie_there, ..state };
        Some(state)
    }

    /// What the model made of `before` is of no use: these parts are not what they were.
    pub fn spoil(&mut self, before: &Option<SessionAt>, parts: Parts) {
        let Some(session) = self.laid_out.session.as_deref_mut() else { return };
        if before.is_none() {
            (self.spare, self.at) = (None, SessionAt::default());
            return;
        }
        let spoil = |spoilt: bool, part: &mut u32| {
            if spoilt {
                *part = SPOILT;
            }
        };
        spoil(parts.state, &mut self.at.state);
        spoil(parts.staged, &mut self.at.staged);
        spoil(parts.calls, &mut self.at.calls);
        spoil(parts.runs, &mut self.at.runs);
        spoil(true, &mut self.at.last_step);
        // Messages are only ever appended.
        session.messages.truncate(self.messages.length(self.at.messages));
    }

    /// The memory of what is kept, in bytes, about.
    pub fn bytes(&self) -> usize {
        self.bulk
            + self.states.bytes()
            + self.staged.bytes()
            + self.calls.bytes()
            + self.runs.bytes()
            + self.messages.bytes()
    }
}

/// The number of the part, of which a copy is kept when it is new.
fn keep<T: Clone + Eq + Hash>(
    pool: &mut Pool<T>,
    part: &T,
    entries: usize,
    bulk: &mut usize,
) -> u32 {
    /// An entry of a map, about.
    const ENTRY: usize = 64;
    let before = pool.count();
    let number = pool.number_of(part);
    if pool.count() > before {
        *bulk += entries * ENTRY;
    }
    number
}

/// Every list of messages that a session had, each as its last message and the list before.
#[derive(Clone, Default)]
struct Messages {
    /// The list before, and the message. The list's number is one past its place; 0: empty.
    lists: Pool<(u32, Message)>,
    lengths: Vec<u32>,
}

impl Messages {
    fn length(&self, list: u32) -> usize {
        list.checked_sub(1).map_or(0, |place| self.lengths[place as usize] as usize)
    }

    /// The list without its last message.
    fn before(&self, list: u32) -> u32 {
        list.checked_sub(1).map_or(0, |place| self.lists.get(place).0)
    }

    /// Makes of `messages`, which are the list `from`, the list `to`.
    fn lay_out(&self, messages: &mut Vec<Message>, mut from: u32, mut to: u32) {
        let mut appended = Vec::new();
        while from != to {
            if self.length(to) >= self.length(from) {
                appended.push(to - 1);
                to = self.before(to);
            } else {
                from = self.before(from);
            }
        }
        messages.truncate(self.length(from));
        messages.extend(appended.iter().rev().map(|place| self.lists.get(*place).1.clone()));
    }

    /// The number of the list, which begins with the list `before`.
    fn keep(&mut self, messages: &[Message], before: u32) -> u32 {
        let known = self.length(before);
        messages[known..].iter().fold(before, |list, message| {
            let length = self.length(list) as u32 + 1;
            let place = self.lists.number((list, message.clone()));
            if place as usize == self.lengths.len() {
                self.lengths.push(length);
            }
            place + 1
        })
    }

    fn bytes(&self) -> usize {
        self.lists.bytes() + self.lengths.capacity() * size_of::<u32>()
    }
}

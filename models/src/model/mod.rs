//! The reference model: what a store must answer, one session at a time and as a whole.
//!
//! [`step`] is the contract as a function. [`StoreModel`] is a store's worth of sessions,
//! over which the two sweeps range.

mod merge;
mod session;
mod step;
mod sweep;

use litemap::LiteMap;

pub(crate) use merge::merge;
pub use session::{Session, SessionState, Staged};
pub use step::step;

use crate::{Id, Operation, Refusal, Reply};

/// All sessions of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreModel {
    sessions: LiteMap<Id, SessionState>,
}

impl FromIterator<SessionState> for StoreModel {
    fn from_iter<I: IntoIterator<Item = SessionState>>(states: I) -> Self {
        let sessions = states.into_iter().map(|state| (state.id.clone(), state)).collect();
        StoreModel { sessions }
    }
}

impl StoreModel {
    /// The session of this id, if it exists.
    pub fn session(&self, id: &Id) -> Option<&Session> {
        self.sessions.get(id)?.session.as_deref()
    }

    /// The state under this id, if an operation ever named it.
    pub fn state_mut(&mut self, id: &Id) -> Option<&mut SessionState> {
        self.sessions.get_mut(id)
    }

    /// Every id that an operation ever named, in byte order, with its session if it exists.
    pub fn sessions(&self) -> impl Iterator<Item = (&Id, Option<&Session>)> {
        self.sessions.iter().map(|(id, state)| (id, state.session.as_deref()))
    }

    /// Applies one operation to the store.
    ///
    /// # Errors
    /// The operation's refusal; the store is then unchanged.
    pub fn step(&mut self, operation: &Operation) -> Result<Reply, Refusal> {
        match operation.session() {
            Some(id) => match self.sessions.get_mut(id) {
                Some(state) => step(state, operation),
                None => {
                    let mut state = SessionState::absent(id.clone());
                    let answer = step(&mut state, operation);
                    if !matches!(answer, Err(Refusal::InvalidInput(_))) {
                        self.sessions.insert(id.clone(), state);
                    }
                    answer
                }
            },
            None => self.sweep(operation),
        }
    }

    /// A sweep is one operation for each session; the replies are joined.
    fn sweep(&mut self, operation: &Operation) -> Result<Reply, Refusal> {
        // Judged here as well, for there may be no session to judge it.
        operation.validate()?;
        let (mut all_expired, mut all_sessions, mut all_staged) = (vec![], vec![], vec![]);
        for (_, state) in self.sessions.iter_mut() {
            match step(state, operation)? {
                Reply::CallsExpired(expired) => all_expired.extend(expired),
                Reply::Cleaned { sessions, staged } => {
                    all_sessions.extend(sessions);
                    all_staged.extend(staged);
                }
                other => unreachable!("a sweep does not answer {other:?}"),
            }
        }
        Ok(match operation {
            Operation::ExpireCalls { .. } => Reply::CallsExpired(all_expired),
            _ => Reply::Cleaned { sessions: all_sessions, staged: all_staged },
        })
    }
}

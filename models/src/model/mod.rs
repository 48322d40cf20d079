//! The reference model: what a store must answer, one session at a time and as a whole.
//!
//! [`step`] is the contract as a function. [`StoreModel`] is a store's worth of sessions,
//! over which the two sweeps range.

mod merge;
mod session;
mod step;
mod sweep;

pub(crate) use merge::merge;
pub use session::{Session, SessionState, Staged};
pub use step::step;

use crate::{Id, Operation, Refusal, Reply};

/// All sessions of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreModel {
    /// In the order of their ids, each of which is there once.
    states: Vec<SessionState>,
}

impl FromIterator<SessionState> for StoreModel {
    fn from_iter<I: IntoIterator<Item = SessionState>>(states: I) -> Self {
        let mut model = StoreModel::default();
        for state in states {
            match model.place(&state.id) {
                Ok(place) => model.states[place] = state,
                Err(place) => model.states.insert(place, state),
            }
        }
        model
    }
}

impl StoreModel {
    /// The session of this id, if it exists.
    pub fn session(&self, id: &Id) -> Option<&Session> {
        self.states[self.place(id).ok()?].session.as_deref()
    }

    /// The state under this id, if an operation ever named it.
    pub fn state_mut(&mut self, id: &Id) -> Option<&mut SessionState> {
        let place = self.place(id).ok()?;
        Some(&mut self.states[place])
    }

    /// Every id that an operation ever named, in byte order, with its session if it exists.
    pub fn sessions(&self) -> impl Iterator<Item = (&Id, Option<&Session>)> {
        self.states.iter().map(|state| (&state.id, state.session.as_deref()))
    }

    /// Where the state under this id is, or where it would have to be.
    fn place(&self, id: &Id) -> Result<usize, usize> {
        /// With more of them, searching is faster.
        const FEW: usize = 8;
        // Who asks mostly shares the id with the model, and that is seen without reading it.
        let shared = self.states.iter().take(FEW).position(|state| state.id.is_shared_with(id));
        shared.map_or_else(|| self.states.binary_search_by(|state| state.id.cmp(id)), Ok)
    }

    /// Applies one operation to the store.
    ///
    /// # Errors
    /// The operation's refusal; the store is then unchanged.
    pub fn step(&mut self, operation: &Operation) -> Result<Reply, Refusal> {
        match operation.session() {
            Some(id) => match self.place(id) {
                Ok(place) => step(&mut self.states[place], operation),
                Err(place) => {
                    let mut state = SessionState::absent(id.clone());
                    let answer = step(&mut state, operation);
                    if !matches!(answer, Err(Refusal::InvalidInput(_))) {
                        self.states.insert(place, state);
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
        for state in &mut self.states {
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

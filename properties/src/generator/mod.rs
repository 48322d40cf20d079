//! The generator: operations that make sense to the model's present state, mostly.
//!
//! It reads the model to name sessions that exist, versions that are current and calls
//! that are pending, so that most operations do something; and on purpose a share of them
//! is stale, late, repeated or invalid, so that every refusal is met. It draws all its
//! choices from a [`Choices`], and so is the same in every lane.

mod invalid;
mod names;
mod values;

use stagefault_models::{
    CallState, Change, Entry, Id, Message, Millis, Operation, OperationKind, Promote, Session,
    Stage, Status, StoreModel, Value,
};

use crate::choices::Choices;
use crate::profile::Profile;
use names::Names;

/// Generates the operations of one episode after another.
pub struct Generator {
    profile: &'static Profile,
    names: Names,
    /// Each kind as often as it weighs, but for what is switched off.
    kinds: Vec<OperationKind>,
    /// Logical time; it only goes forward within an episode.
    clock: Millis,
}

impl Generator {
    /// A generator for this profile.
    pub fn new(profile: &'static Profile) -> Self {
        let kinds = weighed(profile.weights);
        Generator { profile, names: Names::new(profile), kinds, clock: 0 }
    }

    /// Starts an episode, with fresh sessions named after its number.
    pub fn begin_episode(&mut self, episode: u64) {
        self.names.begin_episode(episode, self.profile.sessions);
        self.clock = 1_000;
    }

    /// Switches operations off at random until the next call, each one in two times, if the
    /// profile allows it. The others then meet states that are rare when everything happens.
    pub fn switch_some_off<C: Choices + ?Sized>(&mut self, choices: &mut C) {
        if !self.profile.swarm {
            return;
        }
        self.kinds = weighed(self.profile.weights.map(|weight| weight * choices.below(2)));
        if self.kinds.is_empty() {
            self.kinds = weighed(self.profile.weights);
        }
    }

    /// The next operation and its writer.
    pub fn next<C: Choices + ?Sized>(&mut self, model: &StoreModel, choices: &mut C) -> Entry {
        let writer = choices.below(self.profile.writers);
        let mut operation = self.operation(model, choices);
        if choices.chance(self.profile.invalid, 1000) {
            invalid::spoil(&self.names, &mut operation, choices);
        }
        Entry::new(writer, operation)
    }

    fn operation<C: Choices + ?Sized>(&mut self, model: &StoreModel, choices: &mut C) -> Operation {
        self.clock += Millis::from(choices.below(8));
        let kind = *choices.pick(&self.kinds);
        let id = choices.pick(&self.names.sessions).clone();
        match model.session(&id) {
            Some(session) => self.on_session(kind, id, session, choices),
            // Most of what could be asked of a session that is not there is refused alike.
            None if choices.chance(3, 4) => self.create(id, choices),
            None => self.on_session(kind, id, &Session::created(None), choices),
        }
    }

    fn on_session<C: Choices + ?Sized>(
        &mut self,
        kind: OperationKind,
        id: Id,
        session: &Session,
        choices: &mut C,
    ) -> Operation {
        match kind {
            OperationKind::CreateSession => self.create(id, choices),
            OperationKind::DeleteSession => Operation::DeleteSession { session: id },
            OperationKind::Load => Operation::Load { session: id },
            OperationKind::ReadMessages => self.read_messages(id, session, choices),
            OperationKind::Touch => {
                let expires_at = self.expiry(choices);
                Operation::Touch { session: id, expires_at }
            }
            OperationKind::Stage => self.stage(id, session, choices),
            OperationKind::Discard => {
                Operation::Discard { session: id, step: self.step(session, choices) }
            }
            OperationKind::Promote => self.promote(id, session, choices),
            OperationKind::AppendMessages => {
                let messages = self.messages(session, choices);
                Operation::AppendMessages { session: id, messages }
            }
            OperationKind::CompareAndSetStatus => self.set_status(id, session, choices),
            OperationKind::BeginRun => {
                Operation::BeginRun { session: id, run: choices.pick(&self.names.runs).clone() }
            }
            OperationKind::RequestInterrupt => Operation::RequestInterrupt { session: id },
            OperationKind::ConsumeInterrupt => Operation::ConsumeInterrupt { session: id },
            OperationKind::RegisterCall => self.register_call(id, session, choices),
            OperationKind::SubmitResult => self.submit_result(id, session, choices),
            OperationKind::ExpireCalls => Operation::ExpireCalls { now: self.clock },
            OperationKind::Cleanup => {
                let staging_ttl = *choices.pick(&[0, 50, 200, 1_000_000]);
                Operation::Cleanup { now: self.clock, staging_ttl }
            }
        }
    }

    fn stray<C: Choices + ?Sized>(&self, choices: &mut C) -> bool {
        choices.chance(self.profile.stray, 100)
    }

    fn create<C: Choices + ?Sized>(&mut self, session: Id, choices: &mut C) -> Operation {
        Operation::CreateSession { session, expires_at: self.expiry(choices) }
    }

    /// Mostly never unless the profile says so; else soon.
    fn expiry<C: Choices + ?Sized>(&mut self, choices: &mut C) -> Option<Millis> {
        let expires = choices.chance(self.profile.expiring, 4);
        expires.then(|| self.clock + Millis::from(choices.below(self.profile.expiry)))
    }

    fn read_messages<C: Choices + ?Sized>(
        &self,
        session: Id,
        state: &Session,
        choices: &mut C,
    ) -> Operation {
        let total = state.messages.len() as u32;
        let offset = match choices.below(16) {
            0 => u64::MAX,
            1 => u64::from(total) + 1,
            _ => u64::from(choices.below(total + 1)),
        };
        Operation::ReadMessages { session, offset, limit: *choices.pick(&[0, 1, 3, 1000]) }
    }

    /// Mostly a step that is open, often one that has staging.
    fn step<C: Choices + ?Sized>(&self, session: &Session, choices: &mut C) -> Id {
        let staged = session.staged.len() as u32;
        if staged > 0 && choices.chance(1, 2) {
            let place = choices.below(staged) as usize;
            if let Some(((step, _), _)) = session.staged.get_indexed(place) {
                return step.clone();
            }
        }
        let step = choices.pick(&self.names.steps);
        if session.last_step.as_ref() == Some(step) && !self.stray(choices) {
            return choices.pick(&self.names.steps).clone();
        }
        step.clone()
    }

    fn stage<C: Choices + ?Sized>(
        &self,
        session: Id,
        state: &Session,
        choices: &mut C,
    ) -> Operation {
        Operation::Stage(Stage {
            session,
            step: self.step(state, choices),
            call: choices.pick(&self.names.calls).clone(),
            at: self.clock.saturating_sub(Millis::from(choices.below(4))),
            changes: self.changes(state, choices),
        })
    }

    fn changes<C: Choices + ?Sized, Changes: FromIterator<Change>>(
        &self,
        session: &Session,
        choices: &mut C,
    ) -> Changes {
        let count = *choices.pick(&[1, 1, 1, 2, 3, 0]);
        (0..count).map(|_| self.change(session, choices)).collect()
    }

    /// A change that fits the key's present value, but for a few.
    fn change<C: Choices + ?Sized>(&self, session: &Session, choices: &mut C) -> Change {
        let key = choices.pick(&self.names.keys).clone();
        let fits = match session.state.get(&key) {
            _ if choices.chance(1, 16) => choices.below(4),
            None => *choices.pick(&[0, 0, 2, 3]),
            Some(Value::Array(_)) => *choices.pick(&[2, 2, 2, 1]),
            Some(Value::Integer(_)) => *choices.pick(&[3, 3, 0, 1]),
            Some(_) => *choices.pick(&[0, 0, 1]),
        };
        match fits {
            0 => Change::Set { key, value: self.value(choices) },
            1 => Change::Remove { key },
            2 => {
                let count = choices.below(3);
                Change::Append { key, items: (0..count).map(|_| self.value(choices)).collect() }
            }
            _ => {
                let by = match choices.below(32) {
                    0 => *choices.pick(&[i64::MIN, i64::MAX]),
                    small => i64::from(small) - 8,
                };
                Change::Increment { key, by }
            }
        }
    }

    fn value<C: Choices + ?Sized>(&self, choices: &mut C) -> Value {
        values::value(&self.names, self.profile.large, choices)
    }

    fn promote<C: Choices + ?Sized>(
        &self,
        session: Id,
        state: &Session,
        choices: &mut C,
    ) -> Operation {
        let expected = if self.stray(choices) {
            *choices.pick(&[state.version.wrapping_sub(1), state.version + 1, 0, u64::MAX])
        } else {
            state.version
        };
        Operation::Promote(Promote {
            session,
            step: self.step(state, choices),
            expected,
            status: choices.chance(1, 4).then(|| *choices.pick(&Status::ALL)),
            changes: self.changes(state, choices),
            messages: self.messages(state, choices),
        })
    }

    fn messages<C: Choices + ?Sized>(&self, session: &Session, choices: &mut C) -> Vec<Message> {
        let count = *choices.pick(&[1, 1, 2, 0, 3]);
        let known = session.messages.len();
        (0..count)
            .map(|_| match choices.below(16) {
                // Sent again, or another body under an id that is there.
                0..2 if known > 0 => choices.pick(&session.messages).clone(),
                2 if known > 0 => {
                    let id = choices.pick(&session.messages).id.clone();
                    Message { id, body: self.value(choices) }
                }
                // Mostly a new one.
                _ => {
                    let id = choices.pick(&self.names.messages).clone();
                    Message { id, body: self.value(choices) }
                }
            })
            .collect()
    }

    fn set_status<C: Choices + ?Sized>(
        &self,
        session: Id,
        state: &Session,
        choices: &mut C,
    ) -> Operation {
        let mut from = vec![*choices.pick(&Status::ALL)];
        if !self.stray(choices) {
            from.push(state.status);
        }
        Operation::CompareAndSetStatus { session, from, to: *choices.pick(&Status::ALL) }
    }

    fn register_call<C: Choices + ?Sized>(
        &self,
        session: Id,
        state: &Session,
        choices: &mut C,
    ) -> Operation {
        let call = choices.pick(&self.names.calls).clone();
        let (run, deadline) = match state.calls.get(&call) {
            Some(known) if !self.stray(choices) => (known.run.clone(), known.deadline),
            _ => {
                let Profile { due, overdue, .. } = *self.profile;
                let earliest = self.clock.saturating_sub(overdue.into());
                let deadline = earliest + Millis::from(choices.below(overdue + due));
                (choices.pick(&self.names.runs).clone(), deadline)
            }
        };
        Operation::RegisterCall { session, call, run, deadline }
    }

    /// Mostly a result for a call that is pending, in time, from its own run.
    fn submit_result<C: Choices + ?Sized>(
        &self,
        session: Id,
        state: &Session,
        choices: &mut C,
    ) -> Operation {
        let registered = choices.below(state.calls.len().max(1) as u32) as usize;
        let call = match state.calls.get_indexed(registered) {
            Some((call, _)) if !self.stray(choices) => call.clone(),
            _ => choices.pick(&self.names.calls).clone(),
        };
        let known = state.calls.get(&call);
        let run = match known {
            Some(known) if !self.stray(choices) => known.run.clone(),
            _ => choices.pick(&self.names.runs).clone(),
        };
        let result = match known.map(|known| &known.state) {
            Some(CallState::Submitted(result)) if choices.chance(1, 2) => result.clone(),
            _ => self.value(choices),
        };
        let now = match known {
            Some(known) if self.stray(choices) => known.deadline,
            Some(known) => self.clock.min(known.deadline.saturating_sub(1)),
            None => self.clock,
        };
        Operation::SubmitResult { session, call, run, result, now }
    }
}

/// Each kind of operation as often as it weighs.
fn weighed(weights: [u32; OperationKind::ALL.len()]) -> Vec<OperationKind> {
    let weights = OperationKind::ALL.into_iter().zip(weights);
    weights.flat_map(|(kind, weight)| std::iter::repeat_n(kind, weight as usize)).collect()
}

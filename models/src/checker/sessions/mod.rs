//! The contract as a [`Specification`]: the reference model, one session at a time.
//!
//! States are a dozen numbers. What a session holds in bulk is kept once on a desk, and
//! the model works on the one session that is laid out there.

mod desk;
mod explanation;
mod footprint;
mod parts;

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::{Footprint, Specification, Spent, Step, Verdict, Violation};
use crate::model::step;
use crate::{Completion, History, Id, Operation, Reply};

pub use desk::SessionAt;
use desk::{Desk, Parts};
pub use explanation::Explanation;
pub use parts::calls;

/// What an operation asks of one session. A sweep asks it of every session, one by one.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The session.
    pub session: Id,
    /// The operation.
    pub operation: &'a Operation,
    /// Its place in the history.
    pub recorded: usize,
}

/// The contract: what each operation answers and does, by [`crate::model::step`].
#[derive(Clone, Default)]
pub struct SessionSpecification<'a> {
    desk: Desk,
    lifetime: std::marker::PhantomData<&'a Operation>,
}

/// Decides whether a recorded history is linearizable under the contract. The places in
/// the verdict are those in the history; a sweep in doubt happened if it did in any session.
/// `budget` is as in [`super::check`].
pub fn check_history(
    history: &History,
    budget: impl FnMut(&Spent) -> ControlFlow<String>,
) -> Verdict<Id, Completion> {
    let calls = calls(history);
    let recorded: Vec<usize> = calls.iter().map(|called| called.operation.recorded).collect();
    match super::check(&SessionSpecification::default(), calls, budget) {
        Verdict::Linearizable { happened } => Verdict::Linearizable {
            happened: happened.into_iter().map(|place| recorded[place]).collect(),
        },
        Verdict::Undecided(undecided) => Verdict::Undecided(undecided),
        Verdict::Violation(violation) => Verdict::Violation(Violation {
            prefix: violation.prefix.into_iter().map(|place| recorded[place]).collect(),
            stuck: recorded[violation.stuck],
            key: violation.key,
            expected: violation.expected.into_owned(),
        }),
    }
}

impl<'a> Specification for SessionSpecification<'a> {
    type Key = Id;
    type Operation = Asked<'a>;
    type Answer = Cow<'a, Completion>;
    /// Absent: there is no session.
    type State = Option<SessionAt>;

    fn key(&self, asked: &Asked<'a>) -> Id {
        asked.session.clone()
    }

    fn initial(&mut self, session: &Id) -> Option<SessionAt> {
        self.desk = Desk::of(session.clone());
        None
    }

    fn step(
        &mut self,
        state: &Option<SessionAt>,
        asked: &Asked<'a>,
        seen: Option<&Cow<'a, Completion>>,
    ) -> Step<Option<SessionAt>> {
        let seen = seen.map(|seen| &**seen);
        let session = self.desk.lay_out(state, needs_messages(asked.operation));
        // The most frequent of all, and told without building a reply.
        if let Some(Completion::Done(Reply::Snapshot(snapshot))) = seen
            && let (Operation::Load { .. }, Some(session)) = (asked.operation, &session.session)
        {
            return if session.agrees_with(snapshot) { Step::Same } else { Step::Refuted };
        }
        let answer = step(session, asked.operation);
        let fits = match (&answer, seen) {
            (_, None) => true,
            (Ok(reply), Some(Completion::Done(seen))) => reply == seen,
            (Err(refusal), Some(Completion::Refused(seen))) => refusal == seen,
            _ => false,
        };
        match answer {
            Err(_) if fits => Step::Same,
            Err(_) => Step::Refuted,
            Ok(_) if fits => Step::Moved(self.desk.file(state, Parts::of(asked.operation))),
            Ok(_) => {
                self.desk.spoil(state, Parts::of(asked.operation));
                Step::Refuted
            }
        }
    }

    fn answer(&mut self, state: &Option<SessionAt>, asked: &Asked<'a>) -> Cow<'a, Completion> {
        let mut session = self.desk.lay_out(state, true).clone();
        Cow::Owned(step(&mut session, asked.operation).into())
    }

    fn is_pure(&self, _: &Asked<'a>, seen: &Cow<'a, Completion>) -> bool {
        footprint::is_pure(Some(seen))
    }

    fn may_change(&self, asked: &Asked<'a>) -> bool {
        !matches!(asked.operation, Operation::Load { .. } | Operation::ReadMessages { .. })
            && asked.operation.validate().is_ok()
    }

    fn footprint(&self, asked: &Asked<'a>, seen: Option<&Cow<'a, Completion>>) -> Footprint {
        footprint::footprint(asked.operation, seen.map(|seen| &**seen))
    }

    fn needs(
        &mut self,
        state: &Option<SessionAt>,
        asked: &Asked<'a>,
        seen: &Cow<'a, Completion>,
    ) -> u64 {
        self.desk.needs(state, asked.operation, seen)
    }

    fn bytes(&self) -> usize {
        self.desk.bytes()
    }
}

/// Whether the model looks at the session's messages.
fn needs_messages(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Load { .. }
            | Operation::ReadMessages { .. }
            | Operation::AppendMessages { .. }
            | Operation::Promote(_)
    )
}

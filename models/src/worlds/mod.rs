//! What a session can be, when operations were in doubt in a sequential run.
//!
//! A *world* is a state of the session together with the operations that are still in doubt
//! in it. Before each later operation any of those may take effect, once, in any order (a
//! COMMIT that was under way comes late); every answer rules out the worlds that would have
//! given another. When none is left, no explanation is: a violation. Doubt ends when the
//! writer's operations are [settled](Worlds::settle): once the store shows no open transaction
//! or request of that writer, what has not taken effect never will.
//!
//! The number of worlds is bounded. Past the bound the run cannot be judged any more, and
//! every later question is answered with that.

use std::collections::HashSet;

use crate::model::{SessionState, step};
use crate::{Completion, Id, Operation};

/// The most operations that can be in doubt at the same time.
const MOST_DOUBTS: usize = 64;

/// Every world that the answers so far leave.
#[derive(Clone, Debug)]
pub struct Worlds {
    worlds: Vec<World>,
    /// Operations in doubt, by the bit that stands for them; `None`: the bit is free.
    doubts: Vec<Option<Doubt>>,
    bound: usize,
    lost: Option<Undecided>,
}

/// One way in which things can be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    state: SessionState,
    /// The operations that have not taken effect in it and still may.
    open: u64,
}

#[derive(Clone, Debug)]
struct Doubt {
    writer: u32,
    operation: Operation,
}

/// Why an answer could not be taken in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldsError {
    /// No world explains the answer.
    #[error(transparent)]
    Violation(Box<Ruled>),
    /// There are too many worlds.
    #[error(transparent)]
    Undecided(#[from] Undecided),
}

/// An answer that no world would have given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} would be answered {}, and what was seen is {}",
    json(.operation),
    alternatives(.expected),
    json(.seen)
)]
pub struct Ruled {
    /// The operation.
    pub operation: Operation,
    /// What the worlds would have answered, each answer once.
    pub expected: Vec<Completion>,
    /// What was seen.
    pub seen: Completion,
}

/// Too much is in doubt for a verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "undecided: {doubts} operations are in doubt at once, which makes more than {bound} worlds"
)]
pub struct Undecided {
    /// How many operations were in doubt.
    pub doubts: usize,
    /// How many worlds are allowed.
    pub bound: usize,
}

impl Worlds {
    /// The bound of [`Worlds::of`].
    pub const BOUND: usize = 4096;

    /// The one world in which this is the session's state and nothing is in doubt.
    pub fn of(state: SessionState) -> Self {
        Worlds::bounded(state, Self::BOUND)
    }

    /// The same, with so many worlds at most.
    pub fn bounded(state: SessionState, bound: usize) -> Self {
        let worlds = vec![World { state, open: 0 }];
        Worlds { worlds, doubts: Vec::new(), bound, lost: None }
    }

    /// The states that the session can be in, if nothing more takes effect; each once.
    pub fn states(&self) -> impl Iterator<Item = &SessionState> {
        let states: HashSet<&SessionState> = self.worlds.iter().map(|world| &world.state).collect();
        states.into_iter()
    }

    /// How many operations are in doubt.
    pub fn doubts(&self) -> usize {
        self.doubts.iter().flatten().count()
    }

    /// Takes in what the writer learned of its operation on this session. Of a sweep that is
    /// the part about this session.
    ///
    /// # Errors
    /// That no world explains it, or that there are too many.
    pub fn observe(
        &mut self,
        writer: u32,
        operation: &Operation,
        completion: &Completion,
    ) -> Result<(), WorldsError> {
        match completion {
            Completion::NotApplied(_) => Ok(()),
            Completion::Unknown(_) => self.doubt(writer, operation).map_err(WorldsError::from),
            Completion::Done(_) | Completion::Refused(_) => {
                self.spread()?;
                self.rule(operation, completion)
            }
        }
    }

    /// What of this writer's has not taken effect by now never will.
    ///
    /// # Errors
    /// That there are too many worlds.
    pub fn settle(&mut self, writer: u32) -> Result<(), Undecided> {
        self.spread()?;
        for (bit, doubt) in self.doubts.iter_mut().enumerate() {
            if doubt.as_ref().is_some_and(|doubt| doubt.writer == writer) {
                *doubt = None;
                for world in &mut self.worlds {
                    world.open &= !(1 << bit);
                }
            }
        }
        self.worlds = distinct(std::mem::take(&mut self.worlds));
        Ok(())
    }

    /// The operation may take effect from now on.
    fn doubt(&mut self, writer: u32, operation: &Operation) -> Result<(), Undecided> {
        let reads = matches!(operation, Operation::Load { .. } | Operation::ReadMessages { .. });
        if reads || operation.validate().is_err() {
            return Ok(());
        }
        let free = self.doubts.iter().position(Option::is_none).unwrap_or(self.doubts.len());
        if free >= MOST_DOUBTS {
            return Err(self.lose());
        }
        let doubt = Some(Doubt { writer, operation: operation.clone() });
        if free == self.doubts.len() {
            self.doubts.push(doubt);
        } else {
            self.doubts[free] = doubt;
        }
        for world in &mut self.worlds {
            world.open |= 1 << free;
        }
        Ok(())
    }

    /// Adds the worlds in which operations in doubt take effect now, in every order.
    fn spread(&mut self) -> Result<(), Undecided> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let mut known: HashSet<World> = self.worlds.iter().cloned().collect();
        let mut next = 0;
        while let Some(world) = self.worlds.get(next).cloned() {
            next += 1;
            for (bit, doubt) in self.doubts.iter().enumerate() {
                let Some(doubt) = doubt.as_ref().filter(|_| world.open >> bit & 1 == 1) else {
                    continue;
                };
                let mut changed = world.clone();
                let done = step(&mut changed.state, &doubt.operation).is_ok();
                // Where it changes nothing, it might as well happen later.
                if !done || changed.state == world.state {
                    continue;
                }
                changed.open &= !(1 << bit);
                if known.insert(changed.clone()) {
                    self.worlds.push(changed);
                }
            }
            if self.worlds.len() > self.bound {
                return Err(self.lose());
            }
        }
        Ok(())
    }

    /// Rules out the worlds that answer otherwise.
    fn rule(&mut self, operation: &Operation, seen: &Completion) -> Result<(), WorldsError> {
        let seen = sorted(seen);
        let mut expected = Vec::new();
        let worlds = std::mem::take(&mut self.worlds).into_iter();
        let left = worlds.filter_map(|mut world| {
            let answer = Completion::from(step(&mut world.state, operation));
            if answer == seen {
                return Some(world);
            }
            if !expected.contains(&answer) {
                expected.push(answer);
            }
            None
        });
        self.worlds = distinct(left.collect());
        if self.worlds.is_empty() {
            let operation = operation.clone();
            let ruled = Ruled { operation, expected, seen };
            return Err(WorldsError::Violation(Box::new(ruled)));
        }
        self.forget();
        Ok(())
    }

    /// Frees the bits of operations that have taken effect in every world.
    fn forget(&mut self) {
        let open = self.worlds.iter().fold(0, |open, world| open | world.open);
        for (bit, doubt) in self.doubts.iter_mut().enumerate() {
            if open >> bit & 1 == 0 {
                *doubt = None;
            }
        }
    }

    fn lose(&mut self) -> Undecided {
        let lost = Undecided { doubts: self.doubts(), bound: self.bound };
        self.lost = Some(lost.clone());
        self.worlds.truncate(1);
        lost
    }
}

/// The worlds, each once, and none beside one that can do all that it can: the same
/// state, with at least the same operations open.
fn distinct(mut worlds: Vec<World>) -> Vec<World> {
    worlds.sort_by_key(|world| std::cmp::Reverse(world.open.count_ones()));
    let mut by_state: std::collections::HashMap<SessionState, Vec<u64>> = Default::default();
    worlds.retain(|world| {
        let kept = by_state.entry(world.state.clone()).or_default();
        let is_new = !kept.iter().any(|open| world.open & !open == 0);
        if is_new {
            kept.push(world.open);
        }
        is_new
    });
    worlds
}

/// The completion with the lists whose order is free in the model's order.
fn sorted(completion: &Completion) -> Completion {
    let mut completion = completion.clone();
    if let Completion::Done(reply) = &mut completion {
        reply.sort();
    }
    completion
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn alternatives(answers: &[Completion]) -> String {
    let answers: Vec<String> = answers.iter().map(json).collect();
    answers.join(" or ")
}

/// Of a session that is not there yet.
impl From<Id> for Worlds {
    fn from(session: Id) -> Self {
        Worlds::of(SessionState::absent(session))
    }
}

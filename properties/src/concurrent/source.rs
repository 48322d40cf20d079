//! Where a concurrent episode's operations come from: a generator, or a schedule.

use stagefault_models::{Entry, Fault, OperationKind, StoreModel};

use crate::choices::Choices;
use crate::faults::Planner;
use crate::generator::Generator;
use crate::sequential::{self, Replayed};

/// Gives an episode its operations, in the order in which they are to be called.
pub trait Source {
    /// The next operation and its writer; `None` ends the episode. `free` are the writers
    /// that can call at once, of whom there is at least one; another one is waited for.
    fn next(&mut self, model: &StoreModel, free: &[u32]) -> Option<Entry>;
}

/// Operations made up as the episode goes, for whoever is free.
pub struct Generated<'a, C: Choices> {
    /// Makes them up.
    pub generator: &'a mut Generator,
    /// Decides.
    pub choices: C,
    /// How many are still to come.
    pub remaining: u64,
    /// Out of a thousand operations, how many are made to fail.
    pub faults: u32,
    /// Out of a thousand, how many fail for real, and what they are made to meet.
    pub real: Option<(u32, &'a Planner)>,
}

impl<C: Choices> Source for Generated<'_, C> {
    fn next(&mut self, model: &StoreModel, free: &[u32]) -> Option<Entry> {
        self.remaining = self.remaining.checked_sub(1)?;
        let entry = self.generator.next(model, &mut self.choices);
        let writer = *self.choices.pick(free);
        let fault = self.fault(entry.operation.kind());
        Some(Entry { writer, fault, ..entry })
    }
}

impl<C: Choices> Generated<'_, C> {
    fn fault(&mut self, operation: OperationKind) -> Option<Fault> {
        let choices = &mut self.choices;
        match self.real {
            Some((share, planner)) if choices.chance(share, 1000) => {
                planner.choose(operation, choices)
            }
            _ => choices.chance(self.faults, 1000).then(|| injected(choices)),
        }
    }
}

fn injected(choices: &mut impl Choices) -> Fault {
    match choices.below(4) {
        0 => Fault::NotApplied,
        1 => Fault::UnknownBefore,
        2 => Fault::UnknownAfter,
        _ => Fault::UnknownLate { after: 1 + choices.below(8) },
    }
}

/// Each operation by its own writer, whoever is free.
impl Source for Replayed<'_> {
    fn next(&mut self, model: &StoreModel, _: &[u32]) -> Option<Entry> {
        sequential::Source::next(self, model)
    }
}

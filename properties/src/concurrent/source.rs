//! Where a concurrent episode's operations come from: a generator, or a schedule.

use stagefault_models::{Entry, Fault, StoreModel};

use crate::choices::Choices;
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
}

impl<C: Choices> Source for Generated<'_, C> {
    fn next(&mut self, model: &StoreModel, free: &[u32]) -> Option<Entry> {
        self.remaining = self.remaining.checked_sub(1)?;
        let entry = self.generator.next(model, &mut self.choices);
        let writer = *self.choices.pick(free);
        let fault = self.choices.chance(self.faults, 1000).then(|| fault(&mut self.choices));
        Some(Entry { writer, fault, ..entry })
    }
}

fn fault(choices: &mut impl Choices) -> Fault {
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

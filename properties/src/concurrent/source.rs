//! Where a concurrent episode's operations come from: a generator, or a schedule.

use stagefault_models::{Entry, Fault, Schedule, StoreModel};

use crate::choices::Choices;
use crate::generator::Generator;

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

/// The operations of a schedule, in order, each by its own writer.
pub struct Replayed<'a> {
    entries: std::slice::Iter<'a, Entry>,
}

impl<'a> Replayed<'a> {
    /// Replays this schedule.
    pub fn new(schedule: &'a Schedule) -> Self {
        Replayed { entries: schedule.operations.iter() }
    }
}

impl Source for Replayed<'_> {
    fn next(&mut self, _: &StoreModel, _: &[u32]) -> Option<Entry> {
        self.entries.next().cloned()
    }
}

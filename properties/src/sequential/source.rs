//! Where an episode's operations come from: a generator, or a schedule.

use stagefault_models::{Entry, Schedule, StoreModel};

use crate::choices::Choices;
use crate::generator::Generator;

/// Gives an episode its operations, one at a time.
pub trait Source {
    /// The next operation and its writer, given the model's state; `None` ends the episode.
    fn next(&mut self, model: &StoreModel) -> Option<Entry>;
}

/// Operations made up as the episode goes.
pub struct Generated<'a, C: Choices> {
    /// Makes them up.
    pub generator: &'a mut Generator,
    /// Decides.
    pub choices: &'a mut C,
    /// How many are still to come.
    pub remaining: u64,
}

impl<C: Choices> Source for Generated<'_, C> {
    fn next(&mut self, model: &StoreModel) -> Option<Entry> {
        self.remaining = self.remaining.checked_sub(1)?;
        Some(self.generator.next(model, self.choices))
    }
}

/// The operations of a schedule, in order.
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
    fn next(&mut self, _model: &StoreModel) -> Option<Entry> {
        self.entries.next().cloned()
    }
}

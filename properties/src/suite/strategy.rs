//! Schedules as a proptest strategy.

use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use stagefault_models::{Interleaving, Schedule, StoreModel};

use crate::choices::Choices;
use crate::faults::Planner;
use crate::generator::Generator;
use crate::profile::Profile;

/// Random schedules of a profile, drawn by the one generator from proptest's own numbers; with
/// a planner, those of writers who run freely, and whose operations meet faults.
///
/// The tree does not shrink: a failing schedule is shrunk by [`crate::shrink`], which
/// knows what an operation is and keeps the result as a document.
#[derive(Clone, Debug)]
pub struct Schedules {
    /// What they are made of.
    pub profile: &'static Profile,
    /// Plans faults that are done for real, as often as the profile has them.
    pub faults: Option<Planner>,
}

impl Strategy for Schedules {
    type Tree = Unshrinkable;
    type Value = Schedule;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let mut generator = Generator::new(self.profile);
        generator.begin_episode(0);
        let mut model = StoreModel::default();
        let operations = (0..self.profile.operations).map(|_| {
            let mut entry = generator.next(&model, runner.rng());
            if let Some(planner) = &self.faults
                && runner.rng().chance(self.profile.real, 1000)
            {
                entry.fault = planner.choose(entry.operation.kind(), runner.rng());
            }
            let _ = model.step(&entry.operation);
            entry
        });
        let mut schedule = Schedule::new(operations.collect());
        schedule.interleaving = self.faults.as_ref().map(|_| Interleaving::Free);
        Ok(Unshrinkable(schedule))
    }
}

/// One schedule.
#[derive(Clone, Debug)]
pub struct Unshrinkable(Schedule);

impl ValueTree for Unshrinkable {
    type Value = Schedule;

    fn current(&self) -> Schedule {
        self.0.clone()
    }

    fn simplify(&mut self) -> bool {
        false
    }

    fn complicate(&mut self) -> bool {
        false
    }
}

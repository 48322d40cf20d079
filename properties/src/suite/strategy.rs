//! Schedules as a proptest strategy.

use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use stagefault_models::{Schedule, StoreModel};

use crate::generator::Generator;
use crate::profile::Profile;

/// Random schedules of a profile, drawn by the one generator from proptest's own numbers.
///
/// The tree does not shrink: a failing schedule is shrunk by [`crate::shrink`], which
/// knows what an operation is and keeps the result as a document.
#[derive(Clone, Debug)]
pub struct Schedules {
    /// What they are made of.
    pub profile: &'static Profile,
}

impl Strategy for Schedules {
    type Tree = Unshrinkable;
    type Value = Schedule;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let mut generator = Generator::new(self.profile);
        generator.begin_episode(0);
        let mut model = StoreModel::default();
        let operations = (0..self.profile.operations).map(|_| {
            let entry = generator.next(&model, runner.rng());
            let _ = model.step(&entry.operation);
            entry
        });
        Ok(Unshrinkable(Schedule::new(operations.collect())))
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

//! The episodes that every benchmark runs: 200 operations on 4 sessions, from fixed seeds.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use stagefault_models::{Backend, Entry, StoreModel};
use stagefault_properties::generator::Generator;
use stagefault_properties::profile::Profile;
use stagefault_properties::sequential::{Generated, Options, Sequential};

use crate::tracing::Executed;

/// Runs generated episodes, each another one.
pub struct Episodes<B: Backend> {
    lane: Sequential<B>,
    generator: Generator,
    number: u64,
}

impl<B: Backend> Episodes<B> {
    pub async fn on(backend: B) -> Self {
        let profile = Profile::standard();
        let lane = Sequential::open(backend, profile.writers, Options::default()).await;
        let lane = lane.expect("a store for each writer");
        Episodes { lane, generator: Generator::new(profile), number: 0 }
    }

    /// Runs the next episode.
    pub async fn next(&mut self) {
        self.number += 1;
        self.generator.begin_episode(self.number);
        let mut source = Generated {
            generator: &mut self.generator,
            choices: &mut SmallRng::seed_from_u64(self.number),
            remaining: u64::from(Profile::standard().operations),
        };
        self.lane.episode(&mut source).await.expect("the store holds");
    }
}

/// The statements of operations, each with the number of its connection.
pub fn statements<T>(executed: Vec<Executed<T>>) -> Vec<(usize, T)> {
    let numbered = |Executed { connection, statements }| {
        statements.into_iter().map(move |statement| (connection, statement))
    };
    executed.into_iter().flat_map(numbered).collect()
}

/// The operations of one episode, without running them.
pub fn operations(number: u64) -> Vec<Entry> {
    let mut generator = Generator::new(Profile::standard());
    generator.begin_episode(number);
    let mut choices = SmallRng::seed_from_u64(number);
    let mut model = StoreModel::default();
    let next = || {
        let entry = generator.next(&model, &mut choices);
        let _ = model.step(&entry.operation);
        entry
    };
    std::iter::repeat_with(next).take(Profile::standard().operations as usize).collect()
}

/// A model in the middle of an episode.
pub fn half_way(number: u64) -> StoreModel {
    let mut model = StoreModel::default();
    let operations = operations(number);
    for entry in &operations[..operations.len() / 2] {
        let _ = model.step(&entry.operation);
    }
    model
}

/// On the mean, what is loaded after an operation has at least 2 keys and 3 messages.
pub fn assert_rich() {
    let (mut loads, mut keys, mut messages) = (0, 0, 0);
    for number in 1..=200 {
        let mut model = StoreModel::default();
        for entry in operations(number) {
            let _ = model.step(&entry.operation);
            let touched = entry.operation.session().and_then(|id| model.session(id));
            if let Some(session) = touched {
                loads += 1;
                keys += session.state.len();
                messages += session.messages.len();
            }
        }
    }
    let (keys, messages) = (keys as f64 / loads as f64, messages as f64 / loads as f64);
    println!("at read-back, on the mean: {keys:.2} keys, {messages:.2} messages");
    assert!(keys >= 2.0 && messages >= 3.0, "the episodes are too poor to be a benchmark");
}

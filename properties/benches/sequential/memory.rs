//! The lane on memory, the model alone, and the generator alone.

use criterion::{BatchSize, Criterion, Throughput};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use stagefault_models::{Namespaces, StoreModel};
use stagefault_properties::generator::Generator;
use stagefault_properties::profile::Profile;
use stagefault_stores::memory::MemoryNamespaces;

use crate::episodes::{self, Episodes};

pub fn bench(criterion: &mut Criterion) {
    episodes::assert_rich();
    let operations = Profile::standard().operations;
    let mut group = criterion.benchmark_group("memory");
    group.throughput(Throughput::Elements(u64::from(operations)));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime");
    group.bench_function("lane", |bencher| {
        let backend = runtime.block_on(MemoryNamespaces::default().fresh()).expect("memory");
        let mut episodes = runtime.block_on(Episodes::on(backend));
        bencher.iter(|| runtime.block_on(episodes.next()));
    });

    group.bench_function("model", |bencher| {
        let schedules: Vec<_> = (1..=100).map(episodes::operations).collect();
        let mut next = schedules.iter().cycle();
        bencher.iter(|| {
            let mut model = StoreModel::default();
            for entry in next.next().into_iter().flatten() {
                let _ = std::hint::black_box(model.step(&entry.operation));
            }
            model
        });
    });

    group.bench_function("generator", |bencher| {
        let model = episodes::half_way(1);
        let mut generator = Generator::new(Profile::standard());
        generator.begin_episode(1);
        let mut choices = SmallRng::seed_from_u64(1);
        let generate = |_: ()| -> Vec<_> {
            (0..operations).map(|_| generator.next(&model, &mut choices)).collect()
        };
        bencher.iter_batched(|| (), generate, BatchSize::SmallInput);
    });
    group.finish();
}

//! How fast the checker decides. Reading the histories is not part of any figure.
//!
//! - `etcd`: the 60 published logs of a register, all together.
//! - `key_value`: the published logs of a map, 10 clients as one partition and 50 clients
//!   name by name.
//! - `sessions`: made-up histories of the contract, as [`synthetic`] describes them.
//!
//! The published logs are where the tests look for them; without them only `sessions` runs.

mod synthetic;

#[path = "../../tests/specifications/mod.rs"]
mod specifications;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use stagefault_models::History;
use stagefault_models::checker::{Called, Specification, Verdict, check, check_history};

use specifications::key_value::KeyValue;
use specifications::register::Register;
use specifications::{etcd, published};
use synthetic::Synthetic;

fn holds<S: Specification>(specification: &S, calls: Vec<Called<S::Operation, S::Answer>>) -> bool {
    match check(specification, calls, |_| ControlFlow::Continue(())) {
        Verdict::Linearizable { .. } => true,
        Verdict::Violation(_) => false,
        Verdict::Undecided(undecided) => panic!("{}", undecided.why),
    }
}

fn published(criterion: &mut Criterion) {
    let Some(folder) = published::folder() else { return };
    etcd_logs(criterion, &folder);
    let mut group = criterion.benchmark_group("key_value");
    group.sample_size(10);
    for (file, by_name, linearizable) in [
        ("c10-ok", false, true),
        ("c10-bad", false, false),
        ("c50-ok", true, true),
        ("c50-bad", true, false),
    ] {
        let (calls, names) =
            published::key_value(&published::read(&folder, &format!("kv/{file}.txt")));
        let specification = if by_name { KeyValue::by_name() } else { KeyValue::whole(names) };
        let check = |calls| assert_eq!(holds(&specification, calls), linearizable);
        group.bench_function(file, |bencher| {
            bencher.iter_batched(|| calls.clone(), check, BatchSize::LargeInput);
        });
    }
}

fn etcd_logs(criterion: &mut Criterion, folder: &Path) {
    let verdicts = published::verdicts(folder).into_iter();
    let logs: Vec<_> = verdicts
        .filter(|(file, _)| file.starts_with("etcd"))
        .map(|(file, linearizable)| (etcd::read(&published::read(folder, &file)), linearizable))
        .collect();
    assert_eq!(logs.len(), 60);
    criterion.bench_function("etcd", |bencher| {
        let check = |logs: Vec<(Vec<_>, bool)>| {
            for (log, linearizable) in logs {
                assert_eq!(holds(&Register, log), linearizable);
            }
        };
        bencher.iter_batched(|| logs.clone(), check, BatchSize::LargeInput);
    });
}

fn sessions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sessions");
    group.sample_size(10);
    let mut bench = |name: &str, history: History, linearizable: bool| {
        group.throughput(Throughput::Elements(history.operations.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let verdict = check_history(black_box(&history), |_| ControlFlow::Continue(()));
                assert_eq!(
                    matches!(verdict, Verdict::Linearizable { .. }),
                    linearizable,
                    "{verdict:?}"
                );
            });
        });
    };
    bench("100k spread", Synthetic::spread().history(), true);
    bench("100k spread, one wrong", Synthetic::spread().with_one_wrong_reply(), false);
    bench("100k in turn", Synthetic::in_turn().history(), true);
    bench("100k in turn, one wrong", Synthetic::in_turn().with_one_wrong_reply(), false);
    bench("1k of one session", Synthetic::one_session().history(), true);
    bench("1k of one session, one wrong", Synthetic::one_session().with_one_wrong_reply(), false);
}

criterion_group!(benches, published, sessions);
criterion_main!(benches);

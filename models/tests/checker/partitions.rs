//! Partitions on threads of their own come to the same verdicts.

use stagefault_models::checker::{Verdict, partitions};

use crate::specifications::key_value::{Ask, Call, KeyValue, On};

fn call(name: usize, at: u64, ask: Ask, read: Option<&str>) -> Call {
    let read = read.map(Into::into);
    Call { operation: On { name, ask }, called: at, returned: Some((at + 1, read)) }
}

#[test]
fn partitions_can_be_decided_on_threads() {
    let calls = (0..8usize).flat_map(|name| {
        let read = if name == 5 { "b" } else { "a" };
        [
            call(name, 10 * name as u64, Ask::Append("a".into()), None),
            call(name, 10 * name as u64 + 2, Ask::Get, Some(read)),
        ]
    });
    let partitions = partitions(&KeyValue::by_name(), calls);
    assert_eq!(partitions.len(), 8);
    let threads: Vec<_> = partitions
        .into_iter()
        .map(|mut partition| {
            std::thread::spawn(move || {
                assert_eq!(partition.operations(), 2);
                (*partition.key(), partition.advance(1000).expect("two operations"))
            })
        })
        .collect();
    for thread in threads {
        match thread.join().expect("no panic") {
            (5, Verdict::Violation(violation)) => assert_eq!(violation.stuck, 11),
            (name, Verdict::Linearizable { .. }) => assert_ne!(name, 5),
            (name, other) => panic!("{name}: {other:?}"),
        }
    }
}

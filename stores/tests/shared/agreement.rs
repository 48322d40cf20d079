//! Holding a store's answers and rows against the reference model, operation by operation.

use std::collections::BTreeSet;

use stagefault_models::audit::compare;
use stagefault_models::{Backend, Completion, CompletionKind, Id, StoreModel};

use super::choices::Choices;
use super::requests::{execute, handle};

/// How many operations a run has.
const OPERATIONS: u32 = 600;

/// Runs random operations on two handles by turns, and holds answers and rows against the model.
pub async fn agrees(backend: &impl Backend, seed: u64, seen: &mut BTreeSet<CompletionKind>) {
    let mut stores = [handle(backend).await, handle(backend).await];
    let (mut choices, mut model) = (Choices::new(seed), StoreModel::default());
    for number in 0..OPERATIONS {
        let operation = choices.operation(&model);
        let writer = choices.below(2) as usize;
        let answer = execute(&mut stores[writer], operation.clone()).await;
        let expected = Completion::from(model.step(&operation));
        seen.insert(expected.kind());
        assert_eq!(answer, expected, "seed {seed}, operation {number}: {operation:?}");
        if number % 25 == 0 {
            let ids: Vec<Id> = model.sessions().map(|(id, _)| id.clone()).collect();
            let audit = backend.audit(&ids).await.expect("an audit");
            let findings = compare(&model, &audit);
            assert!(findings.is_empty(), "seed {seed}, after {operation:?}: {findings:?}");
        }
    }
}

/// A run that never met a refusal has proved nothing about it.
pub fn is_every_answer(seen: &BTreeSet<CompletionKind>) {
    let failures = [CompletionKind::NotApplied, CompletionKind::Unknown];
    let missing: Vec<_> = CompletionKind::ALL
        .iter()
        .filter(|kind| !failures.contains(kind) && !seen.contains(kind))
        .collect();
    assert!(missing.is_empty(), "never met: {missing:?}");
}

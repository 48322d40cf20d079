//! The store answers what the reference model answers, operation by operation.

use std::collections::BTreeSet;

use stagefault_stores::sqlite::SqliteBackend;

use crate::shared::agreement::{agrees, is_every_answer};
use crate::support::*;

#[tokio::test]
async fn a_file_answers_what_the_model_answers() {
    let mut seen = BTreeSet::new();
    for seed in 0..4 {
        let (_folder, backend) = database().await;
        agrees(&backend, seed, &mut seen).await;
    }
    is_every_answer(&seen);
}

#[tokio::test]
async fn a_database_in_memory_answers_what_the_model_answers() {
    let mut seen = BTreeSet::new();
    for seed in 100..104 {
        let backend = SqliteBackend::in_memory().await.expect("memory");
        agrees(&backend, seed, &mut seen).await;
    }
    is_every_answer(&seen);
}

//! The store answers what the reference model answers, operation by operation.

use std::collections::BTreeSet;

use crate::shared::agreement::{agrees, is_every_answer};
use crate::support::*;

tests![a_schema_answers_what_the_model_answers];

async fn a_schema_answers_what_the_model_answers(server: Server) {
    let mut seen = BTreeSet::new();
    for seed in 0..4 {
        let backend = server.schema().await;
        agrees(&backend, seed, &mut seen).await;
        remove(&server, backend).await;
    }
    is_every_answer(&seen);
}

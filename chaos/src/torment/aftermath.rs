//! What faults left behind on the server, when all operations have returned.
//!
//! Everything looked for goes away by itself after a moment, if it goes away at all: a
//! backend that is still at a statement whose caller has left, or has not noticed yet that
//! its client is gone. So each is waited for, and what is there at the end of the wait is
//! a finding.

use std::time::Instant;

use stagefault_models::BackendError;
use stagefault_models::audit::Finding;
use stagefault_models::invariants::Invariant;
use tokio::time::sleep;

use super::admin::{Activity, LIMIT, LOOK_AGAIN};
use super::backend::Scene;

/// What is wrong on the server, though there was time enough for it to end. These
/// connections are in use, but none of them at anything.
pub(super) async fn left_behind(scene: &Scene, kept: &[i32]) -> Result<Vec<Finding>, BackendError> {
    let started = Instant::now();
    loop {
        let activity = scene.admin.activity().await;
        let activity = activity.map_err(|error| scene.unreachable("at its activity", &error))?;
        let wrong: Vec<_> =
            activity.iter().filter_map(|backend| unsettled(backend, kept)).collect();
        if wrong.is_empty() || started.elapsed() > LIMIT {
            let finding = |text| Finding { session: None, invariant: Invariant::Liveness, text };
            return Ok(wrong.into_iter().map(finding).collect());
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// What is wrong with a backend, whose client is at nothing.
fn unsettled(backend: &Activity, kept: &[i32]) -> Option<String> {
    let Activity { pid, state, query, locks } = backend;
    let is_kept = kept.contains(pid);
    if is_kept && state == "idle" && *locks == 0 {
        return None;
    }
    let whose = if is_kept { "of a handle" } else { "that no handle uses any more" };
    let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!(
        "after {LIMIT:?} a connection {whose} (backend {pid}) is {state}, with {locks} locks, at: \
         {query}"
    ))
}

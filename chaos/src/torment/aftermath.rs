//! What faults left behind on the server, when all operations have returned.
//!
//! Everything looked for goes away by itself after a moment, if it goes away at all: a
//! backend that is still at a statement whose caller has left, or has not noticed yet that
//! its client is gone. So each is waited for, and what is there at the end of the wait is
//! a finding.

use std::time::{Duration, Instant};

use stagefault_models::BackendError;
use stagefault_models::audit::Finding;
use stagefault_models::invariants::Invariant;
use tokio::time::sleep;

use super::admin::{Activity, LIMIT, LOOK_AGAIN};
use super::backend::Scene;

/// How long a handle's own connection may take to be idle. The store keeps it only when all
/// that was sent on it is answered, so there is nothing more to wait for.
const LIMIT_OF_KEPT: Duration = Duration::from_millis(500);

/// What is wrong on the server, though there was time enough for it to end. These
/// connections are in use, but none of them at anything.
pub(super) async fn left_behind(scene: &Scene, kept: &[i32]) -> Result<Vec<Finding>, BackendError> {
    let started = Instant::now();
    loop {
        let activity = scene.admin.activity().await;
        let mut wrong = activity.map_err(|error| scene.unreachable("at its activity", &error))?;
        wrong.retain(|backend| !is_settled(backend, kept));
        let waited = started.elapsed();
        let late: Vec<_> = wrong.iter().filter(|backend| waited > limit(backend, kept)).collect();
        if wrong.is_empty() || !late.is_empty() {
            return Ok(late.into_iter().map(|backend| finding(backend, kept)).collect());
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Whether it is as a backend should be whose client is at nothing.
fn is_settled(backend: &Activity, kept: &[i32]) -> bool {
    kept.contains(&backend.pid) && backend.state == "idle" && backend.locks == 0
}

/// How long it may take.
fn limit(backend: &Activity, kept: &[i32]) -> Duration {
    if kept.contains(&backend.pid) { LIMIT_OF_KEPT } else { LIMIT }
}

fn finding(backend: &Activity, kept: &[i32]) -> Finding {
    let Activity { pid, state, query, locks } = backend;
    let whose = if kept.contains(pid) { "of a handle" } else { "that no handle uses any more" };
    let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = format!(
        "after {:?} a connection {whose} (backend {pid}) is {state}, with {locks} locks, at: \
         {query}",
        limit(backend, kept)
    );
    Finding { session: None, invariant: Invariant::Liveness, text }
}

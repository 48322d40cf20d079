//! Staging cleanup: no staged row outlives its promote, discard, session or ttl, none
//! appears for the last promoted step, and none goes missing.

use stagefault_models::{Invariant, Schedule};

use super::Property;
use crate::script::{
    cleanup, create, delete, discard, increment, promote, schedule, set, stage, touch,
};

/// Staging is there until something ends it, and then it is gone.
pub const STAGING_CLEANUP: Property =
    Property { invariant: Invariant::StagingCleanup, profile: "sweeps", directed };

fn directed() -> Vec<Schedule> {
    // C05: promoting one step hides the staging of another.
    let another_step_is_kept = schedule([
        create("s"),
        stage("s", "one", "call", 1, [set("a", 1)]),
        stage("s", "two", "call", 1, [set("a", 2)]),
        promote("s", "one", 1),
        promote("s", "two", 2),
    ]);
    // C18: a retried tool call counts once.
    let staged_again_counts_once = schedule([
        create("s"),
        stage("s", "step", "call", 1, [increment("a", 1)]),
        stage("s", "step", "call", 2, [increment("a", 1)]),
        promote("s", "step", 1),
        stage("s", "step", "call", 3, [increment("a", 1)]),
    ]);
    // C07: staging past its ttl; what is younger stays.
    let past_its_ttl = schedule([
        create("s"),
        stage("s", "step", "old", 10, []),
        stage("s", "step", "new", 11, []),
        cleanup(60, 50),
        cleanup(5, 50),
        promote("s", "step", 1),
    ]);
    // C08: rows of a session that is gone.
    let gone_with_its_session = schedule([
        create("s"),
        stage("s", "step", "call", 1, [set("a", 1)]),
        delete("s"),
        create("s"),
        stage("s", "step", "call", 1, []),
        touch("s", Some(10)),
        cleanup(10, 1_000),
        create("s"),
        discard("s", "step"),
    ]);
    vec![another_step_is_kept, staged_again_counts_once, past_its_ttl, gone_with_its_session]
}

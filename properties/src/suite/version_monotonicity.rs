//! Version monotonicity: a version never falls or repeats; each success that moves it adds
//! exactly one; of two promotes that expect the same version at most one succeeds.

use stagefault_models::{Invariant, Schedule, Status};

use super::Property;
use crate::script::{create, delete, promote, schedule, set_status, touch};

/// Versions only go up, one by one, and a stale writer is told so.
pub const VERSION_MONOTONICITY: Property =
    Property { invariant: Invariant::VersionMonotonicity, profile: "promotes", directed };

fn directed() -> Vec<Schedule> {
    let second_writer_is_stale =
        schedule([create("s"), promote("s", "a", 1), promote("s", "b", 1)]);
    // C22: a decision made on a stale read.
    let status_moves_it_too = schedule([
        create("s"),
        set_status("s", [Status::Active], Status::Active),
        promote("s", "a", 1),
        promote("s", "a", 2),
        set_status("s", [Status::Failed], Status::Completed),
    ]);
    let extremes = schedule([
        create("s"),
        promote("s", "a", 0),
        promote("s", "a", u64::MAX),
        promote("s", "a", 1 << 63),
        touch("s", None),
    ]);
    let a_new_life = schedule([
        create("s"),
        promote("s", "a", 1),
        delete("s"),
        create("s"),
        create("s"),
        promote("s", "a", 1),
    ]);
    vec![second_writer_is_stale, status_moves_it_too, extremes, a_new_life]
}

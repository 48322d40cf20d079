//! Call lifecycle: Pending, then Submitted or Expired, once; a submit at or after the
//! deadline never counts.

use stagefault_models::{Invariant, Schedule, Status};

use super::Property;
use crate::script::{create, delete, expire_calls, register, schedule, set_status, submit};

/// A call is resolved once, in time, by its own run.
pub const CALL_LIFECYCLE: Property =
    Property { invariant: Invariant::CallLifecycle, profile: "calls", directed };

fn directed() -> Vec<Schedule> {
    // C38: accepted after the lease ended; and the moment of the deadline is too late.
    let at_the_deadline = schedule([
        create("s"),
        register("s", "c", "run", 100),
        submit("s", "c", "run", 1, 100),
        submit("s", "c", "run", 1, 99),
        submit("s", "c", "run", 1, 200),
    ]);
    // C09, C20: a second result, and the same one again.
    let resolved_once = schedule([
        create("s"),
        register("s", "c", "run", 100),
        submit("s", "c", "run", 1, 1),
        submit("s", "c", "run", 2, 1),
        submit("s", "c", "run", 1, 1),
        expire_calls(1_000),
    ]);
    // C19, C25, C39: expired by the first sweep that is due, and by no second one.
    let expired_once = schedule([
        create("s"),
        create("t"),
        register("s", "c", "run", 100),
        register("t", "c", "run", 50),
        expire_calls(49),
        expire_calls(100),
        expire_calls(100),
        submit("s", "c", "run", 1, 1),
        register("s", "c", "run", 100),
    ]);
    // C40: a stale holder; C24: a cancelled run's call does not stay pending.
    let fenced = schedule([
        create("s"),
        register("s", "c", "b", 100),
        register("s", "c", "a", 100),
        submit("s", "c", "a", 1, 1),
        set_status("s", [Status::Active], Status::Interrupted),
        expire_calls(100),
        delete("s"),
        create("s"),
        submit("s", "c", "b", 1, 1),
    ]);
    vec![at_the_deadline, resolved_once, expired_once, fenced]
}

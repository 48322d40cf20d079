//! Coordination: status compare-and-set, run list and interrupt flag linearize.

use stagefault_models::{Invariant, Schedule, Status};

use super::Property;
use crate::script::{
    begin_run, cleanup, consume_interrupt, create, request_interrupt, schedule, set_status, touch,
};

/// Who asks first is served, and who asks again learns so.
pub const COORDINATION: Property =
    Property { invariant: Invariant::Coordination, profile: "coordination", directed };

fn directed() -> Vec<Schedule> {
    let status = schedule([
        create("s"),
        set_status("s", [Status::Failed, Status::Active], Status::Interrupted),
        set_status("s", [Status::Active], Status::Completed),
        set_status("s", [Status::Interrupted], Status::SuspendedClientTool),
    ]);
    // C23: a run that is begun again keeps its turn.
    let runs = schedule([
        create("s"),
        begin_run("s", "b"),
        begin_run("s", "a"),
        begin_run("s", "b"),
        begin_run("s", "c"),
    ]);
    // C17: one request, one taker.
    let interrupt = schedule([
        create("s"),
        consume_interrupt("s"),
        request_interrupt("s"),
        request_interrupt("s"),
        consume_interrupt("s"),
        consume_interrupt("s"),
    ]);
    // C37: a touched session is not dead.
    let touched = schedule([
        create("s"),
        touch("s", Some(10)),
        touch("s", Some(20)),
        cleanup(15, 0),
        touch("s", None),
        cleanup(1_000, 0),
    ]);
    vec![status, runs, interrupt, touched]
}

//! Atomicity: a promote is seen whole or not at all, staging included; a refusal changes nothing.

use stagefault_models::{Invariant, Schedule};

use super::Property;
use crate::script::{
    append, create, increment, message, promote, promote_with, push, schedule, set, stage,
};

/// A promote is whole or has not happened.
pub const ATOMICITY: Property =
    Property { invariant: Invariant::Atomicity, profile: "balanced", directed };

fn directed() -> Vec<Schedule> {
    let conflicting_message = schedule([
        create("s"),
        append("s", [message("m", 1)]),
        stage("s", "step", "call", 1, [set("staged", 1)]),
        promote_with("s", "step", 1, [set("own", 1)], [message("n", 1), message("m", 2)]),
        promote("s", "step", 1),
    ]);
    let conflicting_change = schedule([
        create("s"),
        stage("s", "step", "call-1", 1, [set("a", "text"), push("b", 1)]),
        stage("s", "step", "call-2", 2, [increment("a", 1)]),
        promote_with("s", "step", 1, [set("own", 1)], [message("m", 1)]),
        stage("s", "step", "call-2", 3, [increment("c", 1)]),
        promote_with("s", "step", 1, [set("own", 1)], [message("m", 1)]),
    ]);
    // Later in time wins over earlier in name: staged calls apply by (at, call).
    let in_order_of_time = schedule([
        create("s"),
        stage("s", "step", "call-1", 9, [set("a", 1)]),
        stage("s", "step", "call-2", 5, [set("a", 2)]),
        promote_with("s", "step", 1, [set("a", 0)], []),
    ]);
    let overflow = schedule([
        create("s"),
        promote_with("s", "one", 1, [increment("a", i64::MAX)], []),
        promote_with("s", "two", 2, [set("b", 1), increment("a", 1), increment("a", -1)], []),
    ]);
    vec![conflicting_message, conflicting_change, in_order_of_time, overflow]
}

//! Append idempotency: no message id twice, order kept, nothing lost.

use stagefault_models::{Invariant, Schedule};

use super::Property;
use crate::script::{append, create, message, promote_with, register, schedule, submit};

/// A message that is sent again is there once, and where it was.
pub const APPEND_IDEMPOTENCY: Property =
    Property { invariant: Invariant::AppendIdempotency, profile: "messages", directed };

fn directed() -> Vec<Schedule> {
    // C11: the whole history is sent again each turn.
    let history_sent_again = schedule([
        create("s"),
        append("s", [message("m1", 1)]),
        append("s", [message("m1", 1), message("m2", 2)]),
        promote_with("s", "step", 1, [], [message("m1", 1), message("m3", 3), message("m2", 2)]),
    ]);
    // C12, C13: a call's result comes with its message, twice.
    let result_and_its_message = schedule([
        create("s"),
        append("s", [message("call", "asked")]),
        register("s", "c", "run", 100),
        submit("s", "c", "run", "yes", 1),
        append("s", [message("call", "asked"), message("result", "yes")]),
        append("s", [message("result", "yes")]),
    ]);
    // C15, C42: a promote whose reply was lost is sent again.
    let promote_sent_again = schedule([
        create("s"),
        promote_with("s", "step", 1, [], [message("m", 1)]),
        promote_with("s", "step", 1, [], [message("m", 1)]),
        promote_with("s", "next", 2, [], [message("m", 1)]),
    ]);
    let twice_in_one_list = schedule([
        create("s"),
        append("s", [message("m", 1), message("m", 1), message("n", 2)]),
        append("s", [message("o", 1), message("o", 2)]),
        append("s", [message("p", 3), message("m", 2), message("n", 1)]),
    ]);
    vec![history_sent_again, result_and_its_message, promote_sent_again, twice_in_one_list]
}

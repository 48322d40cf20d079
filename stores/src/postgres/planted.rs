//! Planted bugs that need but a few words: the text of a statement with a bug in it, and what
//! a failure is taken for by one who does not think in phases.

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};
use stagefault_models::{Cause, Completion, Failure};

use crate::flaws::{Flaw, Flaws};

/// With the flaw, one part of a statement reads otherwise: the flaw, the part, and what
/// stands there instead.
pub(super) type Planting = (Flaw, &'static str, &'static str);

/// The statement's text, with the bug if one of these is planted.
pub(super) fn text(sql: &'static str, flaws: Flaws, plantings: &[Planting]) -> SqlStr {
    for (flaw, part, instead) in plantings {
        if flaws.has(*flaw) {
            debug_assert!(sql.contains(part), "{flaw} has no place in {sql}");
            return AssertSqlSafe(sql.replace(part, instead)).into_sql_str();
        }
    }
    SqlStr::from_static(sql)
}

/// Whether a read that failed so is taken for one that found nothing.
pub(super) fn finds_nothing(flaws: Flaws, failure: &Failure) -> bool {
    flaws.has(Flaw::ErrorRefused) && failure.cause == Cause::Connection
}

/// Whether a commit that failed so is taken for one that was done.
pub(super) fn is_done(flaws: Flaws, failure: &Failure) -> bool {
    flaws.has(Flaw::DoneOnLostCommit) && failure.cause == Cause::Connection
}

/// Whether a commit that failed so is taken for one that had no effect.
pub(super) fn no_effect(flaws: Flaws, failure: &Failure) -> bool {
    const TEXTS: [&str; 3] = ["at EOF", "reset by peer", "terminating connection"];
    let matched = || TEXTS.iter().any(|text| failure.reason.0.contains(text));
    flaws.has(Flaw::CommitErrorNotApplied) || (flaws.has(Flaw::ErrorTextMatched) && matched())
}

/// Whether an operation that came to this is executed again.
pub(super) fn is_tried_again(flaws: Flaws, completion: &Completion) -> bool {
    flaws.has(Flaw::RetryInDoubt)
        && matches!(completion, Completion::Unknown(failure) if failure.cause == Cause::Connection)
}

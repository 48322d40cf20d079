//! The text of a statement: as it is, or with a planted bug in it.

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

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

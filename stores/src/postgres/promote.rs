//! `Promote`: read all that decides, decide, and write it at once under a guard.

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgRow;
use stagefault_models::{Change, Millis, Promote, Refusal, Reply, Version};

use super::failure::Stop;
use super::guarded::{Decision, guarded};
use super::messages::{New, bind, ids, insertion, new_messages};
use super::planted::{self, Planting};
use super::row::{Read, integer, json, kind, optional_text, state_to_json, text, unsigned};
use super::run::{Query, Run};
use crate::flaws::{Flaw, Flaws};
use crate::merge::merge;

/// The session's row, what is staged under the step, and the messages of the request that
/// are there, each looked up by itself, all with their kind: one statement, and so one moment.
const READ: &str = "
    SELECT 0, version, last_step, state, revision, stagings,
           coalesce((SELECT position + 1 FROM messages WHERE session = $1
                     ORDER BY position DESC LIMIT 1), 0)
    FROM sessions WHERE session = $1
    UNION ALL
    SELECT 1, at, call, changes, NULL, NULL, NULL FROM staged WHERE session = $1 AND step = $2
    UNION ALL
    SELECT 2, NULL, found.id, found.body, NULL, NULL, NULL
    FROM unnest($3::text[]) AS wanted (id) CROSS JOIN LATERAL
         (SELECT id, body FROM messages WHERE session = $1 AND id = wanted.id LIMIT 1) AS found";

/// The columns of [`READ`], after the kind.
mod column {
    pub(super) const NUMBER: usize = 1;
    pub(super) const NAME: usize = 2;
    pub(super) const TEXT: usize = 3;
    pub(super) const REVISION: usize = 4;
    pub(super) const STAGINGS: usize = 5;
    pub(super) const COUNT: usize = 6;
}

/// The guard of a promote, by the session's row.
///
/// It holds if nothing was written since that the promote has read. One stage may have been,
/// if it was of another step: one at most, for the row knows no step but the latest's.
///
/// The guard is judged by the row that is locked, and all other parts of the statement see
/// the database as of its beginning. Where the guard holds, these are the same to a promote:
/// it touches the session's row, the step's staging and the messages, and whoever had changed
/// any of that since the read would have moved the row first, and held it until the commit.
const GUARD: &str = "revision = $2
          AND (stagings = $9 OR (stagings = $9 + 1 AND staged_step <> $7))";

const GUARD_FLAWS: [Planting; 2] = [
    (Flaw::PromoteGuardedByVersion, GUARD, "version = $2 AND $9::bigint IS NOT NULL"),
    (Flaw::PromoteChecksFirst, GUARD, "$2::bigint IS NOT NULL AND $9::bigint IS NOT NULL"),
];

/// The session's row, moved if the guard holds; all that is written besides hangs on it.
fn head(flaws: Flaws) -> String {
    let guard = planted::text(GUARD, flaws, &GUARD_FLAWS);
    format!(
        "
    WITH head AS (
        UPDATE sessions SET revision = revision + 1, version = version + 1,
                            status = coalesce($6, status), last_step = $7,
                            state = coalesce($8, state)
        WHERE session = $1 AND {} RETURNING session
    )",
        guard.as_str()
    )
}

const CLEARED: &str = ", cleared AS (
        DELETE FROM staged USING head WHERE staged.session = head.session AND staged.step = $7
    )";

const CLEARED_FLAW: Planting = (Flaw::OtherStagingCleared, " AND staged.step = $7", "");

const WRITE_CHANGES: &str = "
    UPDATE sessions SET revision = revision + 1, state = coalesce($2, state) WHERE session = $1";

pub(super) async fn promote(run: &mut Run<'_>, request: &Promote) -> Result<Reply, Stop> {
    let flaws = run.flaws;
    let read = || read(request);
    let answer = guarded(run, &request.session, read, |rows| {
        let plan = Plan::of(request, rows, flaws)?;
        let reply = plan.reply();
        Ok(Decision { write: Some(plan.write(request, flaws)), reply })
    });
    let answer = answer.await;
    if flaws.has(Flaw::ChangesBeforeMessageConflict)
        && matches!(answer, Err(Stop::Refused(Refusal::MessageConflict { .. })))
    {
        write_changes(run, request).await?;
    }
    answer
}

pub(super) fn read(request: &Promote) -> Query {
    sqlx::query(READ)
        .bind(request.session.as_str())
        .bind(request.step.as_str())
        .bind(ids(&request.messages))
}

/// What a promote with [`Flaw::ChangesBeforeMessageConflict`] has written by the time it
/// finds the conflict.
async fn write_changes(run: &mut Run<'_>, request: &Promote) -> Result<(), Stop> {
    let rows = run.read(read(request)).await?;
    let found = Found::among(&rows)?;
    let state = merged(found.head()?, &request.changes, &in_order(&found.staged, Flaws::none())?)?;
    run.write(sqlx::query(WRITE_CHANGES).bind(request.session.as_str()).bind(state)).await?;
    Ok(())
}

/// What a promote that is not refused writes.
pub(super) struct Plan<'m> {
    /// The revision that was read, by which the write is guarded.
    pub(super) revision: i64,
    /// The count of stages that was read: the write's guard, too.
    pub(super) stagings: i64,
    /// The version that the session moves to.
    pub(super) version: Version,
    /// The new state; `None`: as it was.
    pub(super) state: Option<String>,
    /// How many staged calls are applied.
    pub(super) applied: u64,
    /// How many messages are there already.
    pub(super) count: u64,
    pub(super) new: Vec<New<'m>>,
}

impl<'m> Plan<'m> {
    pub(super) fn of(request: &'m Promote, rows: &[PgRow], flaws: Flaws) -> Result<Self, Stop> {
        let found = Found::among(rows)?;
        let head = found.head()?;
        let closed = optional_text(head, column::NAME)? == Some(&request.step);
        if closed && !flaws.has(Flaw::StepNotClosed) {
            return Err(Refusal::StepClosed.into());
        }
        let current = unsigned(head, column::NUMBER)?;
        if request.expected != current && !flaws.has(Flaw::VersionNotChecked) {
            return Err(Refusal::StaleState { expected: request.expected, current }.into());
        }
        let new = new_messages(&request.messages, found.messages, flaws)?;
        let staged = in_order(&found.staged, flaws)?;
        Ok(Plan {
            revision: if flaws.has(Flaw::PromoteGuardedByVersion) {
                integer(head, column::NUMBER)?
            } else {
                integer(head, column::REVISION)?
            },
            stagings: integer(head, column::STAGINGS)?,
            version: current + 1,
            state: merged(head, &request.changes, &staged)?,
            applied: staged.len() as u64,
            count: unsigned(head, column::COUNT)?,
            new,
        })
    }

    pub(super) fn reply(&self) -> Reply {
        let Plan { version, applied, .. } = *self;
        Reply::Promoted { version, applied, appended: self.new.len() as u64 }
    }

    fn write(self, request: &Promote, flaws: Flaws) -> Query {
        let mut sql = head(flaws);
        let others = flaws.has(Flaw::OtherStagingCleared);
        if (self.applied > 0 || others) && !flaws.has(Flaw::StagingNotCleared) {
            sql += planted::text(CLEARED, flaws, &[CLEARED_FLAW]).as_str();
        }
        if !self.new.is_empty() {
            sql += &format!(", appended AS ({})", insertion(flaws));
        }
        sql += " SELECT FROM head";
        let query =
            sqlx::query(AssertSqlSafe(sql)).bind(request.session.as_str()).bind(self.revision);
        bind(query, self.count, self.new)
            .bind(request.status.map(|status| status.as_str()))
            .bind(request.step.as_str())
            .bind(self.state)
            .bind(self.stagings)
    }
}

/// The rows of a read, by kind; of messages the id and the body.
struct Found<'r> {
    head: Option<&'r PgRow>,
    staged: Vec<&'r PgRow>,
    messages: Vec<(&'r str, &'r str)>,
}

impl<'r> Found<'r> {
    fn among(rows: &'r [PgRow]) -> Read<Self> {
        let mut found = Found { head: None, staged: Vec::new(), messages: Vec::new() };
        for row in rows {
            match kind(row)? {
                0 => found.head = Some(row),
                1 => found.staged.push(row),
                _ => found.messages.push((text(row, column::NAME)?, text(row, column::TEXT)?)),
            }
        }
        Ok(found)
    }

    fn head(&self) -> Result<&'r PgRow, Refusal> {
        self.head.ok_or(Refusal::SessionNotFound)
    }
}

/// The changes of the staged calls, by (at, call).
fn in_order(staged: &[&PgRow], flaws: Flaws) -> Read<Vec<Vec<Change>>> {
    let mut calls: Vec<(Millis, &str, Vec<Change>)> = Vec::with_capacity(staged.len());
    for row in staged {
        let (at, call) = (unsigned(row, column::NUMBER)?, text(row, column::NAME)?);
        calls.push((at, call, json(row, column::TEXT)?));
    }
    if flaws.has(Flaw::StagingInOrderOfNames) {
        calls.sort_unstable_by_key(|(_, call, _)| *call);
    } else {
        calls.sort_unstable_by_key(|(at, call, _)| (*at, *call));
    }
    Ok(calls.into_iter().map(|(_, _, changes)| changes).collect())
}

/// The state after the request's changes and then the staged ones.
fn merged(
    head: &PgRow,
    changes: &[Change],
    staged: &[Vec<Change>],
) -> Result<Option<String>, Stop> {
    let mut changes = changes.iter().chain(staged.iter().flatten()).peekable();
    if changes.peek().is_none() {
        return Ok(None);
    }
    let mut state = json(head, column::TEXT)?;
    merge(&mut state, changes).map_err(|key| Refusal::MergeConflict { key })?;
    Ok(Some(state_to_json(&state)?))
}

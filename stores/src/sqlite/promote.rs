//! `Promote` and `AppendMessages`: read all that decides, decide, and write it at once.
//!
//! Both hold the write lock from their read to their commit, so what was read is what is
//! there when they write.

use sqlx::sqlite::SqliteRow;
use stagefault_models::{Change, Id, Message, Millis, Promote, Refusal, Reply, Version};

use super::failure::Stop;
use super::messages::{New, ids, insert, new_messages};
use super::row::{Read, integer, json, optional_text, state_to_json, text, unsigned};
use super::run::{Run, Transaction};
use crate::flaws::{Flaw, Flaws};
use crate::merge::merge;

/// The session's row, what is staged under the step, and the messages of the request that
/// are there, each with its kind. (`CROSS JOIN` looks up each id; for `IN`, SQLite would
/// rather walk through all messages of the session.)
const READ: &str = "BEGIN IMMEDIATE;
    SELECT 0, version, last_step, state,
           coalesce((SELECT position + 1 FROM messages WHERE session = ?1
                     ORDER BY position DESC LIMIT 1), 0)
    FROM sessions WHERE session = ?1
    UNION ALL
    SELECT 1, at, call, changes, NULL FROM staged WHERE session = ?1 AND step = ?3
    UNION ALL
    SELECT 2, messages.position, messages.id, messages.body, NULL
    FROM json_each(?2) AS wanted
    CROSS JOIN messages ON messages.session = ?1 AND messages.id = wanted.value";

/// As [`READ`], without what only a promote needs.
const READ_MESSAGES: &str = "BEGIN IMMEDIATE;
    SELECT 0, NULL, NULL, NULL,
           coalesce((SELECT position + 1 FROM messages WHERE session = ?1
                     ORDER BY position DESC LIMIT 1), 0)
    FROM sessions WHERE session = ?1
    UNION ALL
    SELECT 2, messages.position, messages.id, messages.body, NULL
    FROM json_each(?2) AS wanted
    CROSS JOIN messages ON messages.session = ?1 AND messages.id = wanted.value";

/// With [`Flaw::PromoteChecksFirst`] or [`Flaw::AppendChecksFirst`], after a read by itself.
const BEGIN: &str = "BEGIN IMMEDIATE; SELECT 1";

/// The read without the BEGIN.
fn alone(read: &'static str) -> &'static str {
    read.strip_prefix("BEGIN IMMEDIATE;").unwrap_or(read)
}

const UPDATE_SESSION: &str = "
    UPDATE sessions SET version = version + 1, status = coalesce(?2, status),
                        last_step = ?3, state = coalesce(?4, state)
    WHERE session = ?1";

const CLEAR_STAGING: &str = "DELETE FROM staged WHERE session = ?1 AND step = ?2";

/// With [`Flaw::OtherStagingCleared`].
const CLEAR_ALL_STAGING: &str = "DELETE FROM staged WHERE session = ?1 AND ?2 IS NOT NULL";

/// The columns of both reads, after the kind.
mod column {
    pub(super) const NUMBER: usize = 1;
    pub(super) const NAME: usize = 2;
    pub(super) const TEXT: usize = 3;
    pub(super) const COUNT: usize = 4;
}

pub(super) async fn promote(run: &mut Run<'_>, request: &Promote) -> Result<Reply, Stop> {
    let Promote { session, step, .. } = request;
    let flaws = run.flaws;
    let read = |text| -> Read<_> {
        let query = sqlx::query(text).bind(session.as_str()).bind(ids(&request.messages)?);
        Ok(query.bind(step.as_str()))
    };
    let (mut transaction, rows) = if flaws.has(Flaw::PromoteChecksFirst) {
        let rows = run.read(read(alone(READ))?).await?;
        (run.begin(sqlx::query(BEGIN)).await?.0, rows)
    } else {
        run.begin(read(READ)?).await?
    };
    let plan = match Plan::of(request, &rows, flaws) {
        Ok(plan) => plan,
        Err(stop) => {
            if flaws.has(Flaw::ChangesBeforeMessageConflict)
                && matches!(stop, Stop::Refused(Refusal::MessageConflict { .. }))
            {
                write_changes(&mut transaction, request, &rows).await?;
                transaction.commit().await?;
                return Err(stop);
            }
            transaction.rollback().await;
            return Err(stop);
        }
    };
    let update = sqlx::query(UPDATE_SESSION)
        .bind(session.as_str())
        .bind(request.status.map(|status| status.as_str()))
        .bind(step.as_str())
        .bind(plan.state);
    transaction.execute(update).await?;
    let all = flaws.has(Flaw::OtherStagingCleared);
    if (plan.applied > 0 || all) && !flaws.has(Flaw::StagingNotCleared) {
        let clear = sqlx::query(if all { CLEAR_ALL_STAGING } else { CLEAR_STAGING });
        let clear = clear.bind(session.as_str()).bind(step.as_str());
        transaction.execute(clear).await?;
    }
    let appended = plan.new.len() as u64;
    insert(&mut transaction, session, plan.count, plan.new, flaws).await?;
    transaction.commit().await?;
    Ok(Reply::Promoted { version: plan.version, applied: plan.applied, appended })
}

/// What a promote with [`Flaw::ChangesBeforeMessageConflict`] has written by the time it
/// finds the conflict.
async fn write_changes(
    transaction: &mut Transaction<'_, '_>,
    request: &Promote,
    rows: &[SqliteRow],
) -> Result<(), Stop> {
    let found = Found::among(rows)?;
    let state = merged(found.head()?, &request.changes, &in_order(&found.staged, Flaws::none())?)?;
    let update = sqlx::query("UPDATE sessions SET state = coalesce(?2, state) WHERE session = ?1");
    transaction.execute(update.bind(request.session.as_str()).bind(state)).await?;
    Ok(())
}

/// What a promote that is not refused writes.
struct Plan<'m> {
    /// The version that the session moves to.
    version: Version,
    /// The new state; `None`: as it was.
    state: Option<String>,
    /// How many staged calls are applied.
    applied: u64,
    /// How many messages are there already.
    count: u64,
    new: Vec<New<'m>>,
}

impl<'m> Plan<'m> {
    fn of(request: &'m Promote, rows: &[SqliteRow], flaws: Flaws) -> Result<Self, Stop> {
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
        let new = new_messages(&request.messages, &found.messages, column::NAME, flaws)?;
        let staged = in_order(&found.staged, flaws)?;
        Ok(Plan {
            version: current + 1,
            state: merged(head, &request.changes, &staged)?,
            applied: staged.len() as u64,
            count: unsigned(head, column::COUNT)?,
            new,
        })
    }
}

/// The rows of a read, by kind.
struct Found<'r> {
    head: Option<&'r SqliteRow>,
    staged: Vec<&'r SqliteRow>,
    messages: Vec<&'r SqliteRow>,
}

impl<'r> Found<'r> {
    fn among(rows: &'r [SqliteRow]) -> Read<Self> {
        let mut found = Found { head: None, staged: Vec::new(), messages: Vec::new() };
        for row in rows {
            match integer(row, 0)? {
                0 => found.head = Some(row),
                1 => found.staged.push(row),
                _ => found.messages.push(row),
            }
        }
        Ok(found)
    }

    fn head(&self) -> Result<&'r SqliteRow, Refusal> {
        self.head.ok_or(Refusal::SessionNotFound)
    }
}

/// The changes of the staged calls, by (at, call).
fn in_order(staged: &[&SqliteRow], flaws: Flaws) -> Read<Vec<Vec<Change>>> {
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
    head: &SqliteRow,
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

pub(super) async fn append_messages(
    run: &mut Run<'_>,
    session: &Id,
    messages: &[Message],
) -> Result<Reply, Stop> {
    let flaws = run.flaws;
    let read =
        |text| -> Read<_> { Ok(sqlx::query(text).bind(session.as_str()).bind(ids(messages)?)) };
    let (mut transaction, rows) = if flaws.has(Flaw::AppendChecksFirst) {
        let rows = run.read(read(alone(READ_MESSAGES))?).await?;
        (run.begin(sqlx::query(BEGIN)).await?.0, rows)
    } else {
        run.begin(read(READ_MESSAGES)?).await?
    };
    let (count, new) = match appended(messages, &rows, flaws) {
        Ok(found) => found,
        Err(stop) => {
            transaction.rollback().await;
            return Err(stop);
        }
    };
    let appended = new.len() as u64;
    if new.is_empty() {
        transaction.rollback().await;
    } else {
        insert(&mut transaction, session, count, new, flaws).await?;
        transaction.commit().await?;
    }
    Ok(Reply::Appended { appended, total: count + appended })
}

/// How many messages are there, and which are new.
fn appended<'m>(
    messages: &'m [Message],
    rows: &[SqliteRow],
    flaws: Flaws,
) -> Result<(u64, Vec<New<'m>>), Stop> {
    let found = Found::among(rows)?;
    let count = unsigned(found.head()?, column::COUNT)?;
    Ok((count, new_messages(messages, &found.messages, column::NAME, flaws)?))
}

//! `Load`: all of a session but its messages and its staged changes, in one statement,
//! and so at one moment.

use litemap::LiteMap;
use sqlx::sqlite::SqliteRow;
use stagefault_models::{Call, Id, Refusal, Reply, Snapshot, StagedMark};

use super::failure::Stop;
use super::row::{
    Read, call_state, id, integer, json, optional_text, optional_unsigned, status, unsigned,
};
use super::run::Run;

/// The session's row, its staging, its calls and its runs, each with its kind.
const LOAD: &str = "
    SELECT 0, version, status, last_step, state, NULL, interrupt, expires_at,
           coalesce((SELECT position + 1 FROM messages WHERE session = ?1
                     ORDER BY position DESC LIMIT 1), 0)
    FROM sessions WHERE session = ?1
    UNION ALL
    SELECT 1, at, step, call, NULL, NULL, NULL, NULL, NULL FROM staged WHERE session = ?1
    UNION ALL
    SELECT 2, deadline, call, run, state, result, NULL, NULL, NULL FROM calls WHERE session = ?1
    UNION ALL
    SELECT 3, turn, run, NULL, NULL, NULL, NULL, NULL, NULL FROM runs WHERE session = ?1";

pub(super) async fn load(run: &mut Run<'_>, session: &Id) -> Result<Reply, Stop> {
    let rows = run.read(sqlx::query(LOAD).bind(session.as_str())).await?;
    let mut snapshot = None;
    let (mut staged, mut calls, mut runs) = (Vec::new(), LiteMap::new(), Vec::new());
    for row in &rows {
        match integer(row, 0)? {
            0 => snapshot = Some(head(row)?),
            1 => staged.push(StagedMark {
                at: unsigned(row, 1)?,
                step: id(row, 2)?,
                call: id(row, 3)?,
            }),
            2 => {
                let (deadline, run) = (unsigned(row, 1)?, id(row, 3)?);
                calls.insert(id(row, 2)?, Call { run, deadline, state: call_state(row, 4)? });
            }
            _ => runs.push((unsigned(row, 1)?, id(row, 2)?)),
        }
    }
    let mut snapshot = snapshot.ok_or(Refusal::SessionNotFound)?;
    // They come in order of their keys as it is, which SQLite does not promise.
    staged.sort_unstable();
    runs.sort_unstable();
    snapshot.staged = staged;
    snapshot.calls = calls;
    snapshot.runs = runs.into_iter().map(|(_, run)| run).collect();
    Ok(Reply::Snapshot(snapshot.into()))
}

/// What the session's own row shows.
fn head(row: &SqliteRow) -> Read<Snapshot> {
    Ok(Snapshot {
        version: unsigned(row, 1)?,
        status: status(row, 2)?,
        last_step: optional_text(row, 3)?.map(Id::from),
        state: json(row, 4)?,
        interrupt: integer(row, 6)? != 0,
        expires_at: optional_unsigned(row, 7)?,
        message_count: unsigned(row, 8)?,
        staged: Vec::new(),
        calls: LiteMap::new(),
        runs: Vec::new(),
    })
}

//! Staging a tool call's changes, and dropping what is staged under a step.

use sqlx::postgres::PgRow;
use stagefault_models::{Id, Refusal, Reply, Stage};

use super::failure::Stop;
use super::guarded::{Decision, guarded};
use super::planted::{Planting, text};
use super::row::{clamped, integer, only, optional_text, to_json, unsigned};
use super::run::Run;
use crate::flaws::Flaw;

/// Decides by the session's row, which it locks first; what is staged already it replaces,
/// also when that came while it waited for the lock.
const STAGE: &str = "
    WITH head AS (
        UPDATE sessions SET stagings = stagings + 1, staged_step = $2
        WHERE session = $1 AND last_step IS DISTINCT FROM $2 RETURNING session
    )
    INSERT INTO staged (session, step, call, at, changes)
    SELECT session, $2, $3, $4, $5 FROM head
    ON CONFLICT (session, step, call) DO UPDATE SET at = excluded.at, changes = excluded.changes";

const STAGE_FLAWS: [Planting; 2] = [
    (Flaw::FirstStageKept, "at = excluded.at, changes = excluded.changes", "at = staged.at"),
    (Flaw::StepNotClosed, " AND last_step IS DISTINCT FROM $2", ""),
];

pub(super) const LAST_STEP: &str = "SELECT last_step FROM sessions WHERE session = $1";

const COUNT: &str = "
    SELECT revision, stagings, (SELECT count(*) FROM staged WHERE session = $1 AND step = $2)
    FROM sessions WHERE session = $1";

/// Guarded, for it deletes what it sees, and would miss what was staged while it waited.
const DISCARD: &str = "
    WITH head AS (
        UPDATE sessions SET revision = revision + 1
        WHERE session = $1 AND revision = $3 AND stagings = $4 RETURNING session
    )
    DELETE FROM staged USING head WHERE staged.session = head.session AND staged.step = $2";

pub(super) async fn stage(run: &mut Run<'_>, stage: &Stage) -> Result<Reply, Stop> {
    let Stage { session, step, call, at, changes } = stage;
    let changes = to_json(changes)?;
    loop {
        let query = sqlx::query(text(STAGE, run.flaws, &STAGE_FLAWS))
            .bind(session.as_str())
            .bind(step.as_str())
            .bind(call.as_str())
            .bind(clamped(*at))
            .bind(&changes);
        if run.write(query).await?.changes > 0 {
            return Ok(Reply::Staged);
        }
        let rows = run.read(sqlx::query(LAST_STEP).bind(session.as_str())).await?;
        let row = only(&rows).ok_or(Refusal::SessionNotFound)?;
        if optional_text(row, 0)? == Some(step) {
            return Err(Refusal::StepClosed.into());
        }
        // Another step was promoted, or the session was created, in between.
    }
}

pub(super) async fn discard(run: &mut Run<'_>, session: &Id, step: &Id) -> Result<Reply, Stop> {
    let read = || sqlx::query(COUNT).bind(session.as_str()).bind(step.as_str());
    let decide = |rows: &[PgRow]| {
        let row = only(rows).ok_or(Refusal::SessionNotFound)?;
        let (revision, stagings) = (integer(row, 0)?, integer(row, 1)?);
        let calls = unsigned(row, 2)?;
        let discard = || {
            let discard = sqlx::query(DISCARD).bind(session.as_str()).bind(step.as_str());
            discard.bind(revision).bind(stagings)
        };
        Ok(Decision { write: (calls > 0).then(discard), reply: Reply::Discarded { calls } })
    };
    guarded(run, session, read, decide).await
}

//! The operations that one guarded statement carries out.
//!
//! Each write carries in its WHERE all that it depends on, so it is its own transaction.
//! Where it changed no row, one read says why; what the read can no longer explain has
//! changed in between, and the operation goes round again, for its write had no effect.
//! A round is only lost to another writer's success, and the deadline bounds them all.

use sqlx::sqlite::SqliteRow;
use stagefault_models::{Id, Millis, Refusal, Reply, Stage, Status};

use super::failure::Stop;
use super::row::{
    clamped, integer, only, optional_text, optional_unsigned, status, to_json, unsigned,
};
use super::run::Run;
use crate::flaws::Flaw;

const CREATE: &str = "
    INSERT INTO sessions (session, version, status, interrupt, expires_at, state)
    VALUES (?1, 1, ?2, 0, ?3, '{}') ON CONFLICT (session) DO NOTHING";

pub(super) const VERSION: &str = "SELECT version FROM sessions WHERE session = ?1";

/// All that hangs on the session goes with its row, by the foreign keys.
const DELETE: &str = "DELETE FROM sessions WHERE session = ?1";

const TOUCH: &str = "UPDATE sessions SET expires_at = ?2 WHERE session = ?1";

/// With [`Flaw::ExpiryNotCleared`].
const TOUCH_BUT_NOT_CLEAR: &str =
    "UPDATE sessions SET expires_at = coalesce(?2, expires_at) WHERE session = ?1";

const STAGE: &str = "
    INSERT INTO staged (session, step, call, at, changes)
    SELECT session, ?2, ?3, ?4, ?5 FROM sessions WHERE session = ?1 AND last_step IS NOT ?2
    ON CONFLICT (session, step, call) DO UPDATE SET at = excluded.at, changes = excluded.changes";

/// With [`Flaw::FirstStageKept`].
const STAGE_ONCE: &str = "
    INSERT INTO staged (session, step, call, at, changes)
    SELECT session, ?2, ?3, ?4, ?5 FROM sessions WHERE session = ?1 AND last_step IS NOT ?2
    ON CONFLICT (session, step, call) DO UPDATE SET at = staged.at";

/// With [`Flaw::StepNotClosed`].
pub(super) const STAGE_ANYWHERE: &str = "
    INSERT INTO staged (session, step, call, at, changes)
    SELECT session, ?2, ?3, ?4, ?5 FROM sessions WHERE session = ?1
    ON CONFLICT (session, step, call) DO UPDATE SET at = excluded.at, changes = excluded.changes";

pub(super) const LAST_STEP: &str = "SELECT last_step FROM sessions WHERE session = ?1";

const DISCARD: &str = "DELETE FROM staged WHERE session = ?1 AND step = ?2";

const IS_STAGED: &str = "
    SELECT EXISTS (SELECT 1 FROM staged WHERE session = ?1 AND step = ?2)
    FROM sessions WHERE session = ?1";

const SET_STATUS: &str = "
    UPDATE sessions SET status = ?2, version = version + 1
    WHERE session = ?1 AND status IN (SELECT value FROM json_each(?3)) RETURNING version";

/// With [`Flaw::StatusNotCompared`].
const SET_STATUS_WHATEVER_IT_IS: &str = "
    UPDATE sessions SET status = ?2, version = version + 1
    WHERE session = ?1 AND ?3 IS NOT NULL RETURNING version";

pub(super) const STATUS: &str = "SELECT status, version FROM sessions WHERE session = ?1";

const BEGIN_RUN: &str = "
    INSERT INTO runs (session, turn, run)
    SELECT session, coalesce((SELECT max(turn) FROM runs WHERE session = ?1), 0) + 1, ?2
    FROM sessions WHERE session = ?1
    ON CONFLICT (session, run) DO NOTHING RETURNING turn";

const TURN: &str = "
    SELECT (SELECT turn FROM runs WHERE session = ?1 AND run = ?2)
    FROM sessions WHERE session = ?1";

const REQUEST_INTERRUPT: &str = "UPDATE sessions SET interrupt = 1 WHERE session = ?1";

const TAKE_INTERRUPT: &str = "
    UPDATE sessions SET interrupt = 0 WHERE session = ?1 AND interrupt = 1";

/// With [`Flaw::InterruptNotCleared`].
const SEE_INTERRUPT: &str = "
    UPDATE sessions SET interrupt = 1 WHERE session = ?1 AND interrupt = 1";

pub(super) const INTERRUPT: &str = "SELECT interrupt FROM sessions WHERE session = ?1";

type Answer = Result<Reply, Stop>;

/// The session's row, as a read shows it.
pub(super) fn existing(rows: &[SqliteRow]) -> Result<&SqliteRow, Refusal> {
    only(rows).ok_or(Refusal::SessionNotFound)
}

pub(super) async fn create(run: &mut Run<'_>, session: &Id, expires_at: Option<Millis>) -> Answer {
    loop {
        let create = sqlx::query(CREATE)
            .bind(session.as_str())
            .bind(Status::Active.as_str())
            .bind(expires_at.map(clamped));
        if run.write(create).await?.changes > 0 {
            return Ok(Reply::Created { version: 1 });
        }
        let rows = run.read(sqlx::query(VERSION).bind(session.as_str())).await?;
        // Without a row it was deleted in between.
        if let Some(row) = only(&rows) {
            return Err(Refusal::SessionExists { version: unsigned(row, 0)? }.into());
        }
    }
}

pub(super) async fn delete(run: &mut Run<'_>, session: &Id) -> Answer {
    match run.write(sqlx::query(DELETE).bind(session.as_str())).await?.changes {
        0 => Err(Refusal::SessionNotFound.into()),
        _ => Ok(Reply::Deleted),
    }
}

pub(super) async fn touch(run: &mut Run<'_>, session: &Id, expires_at: Option<Millis>) -> Answer {
    let flawed = run.flaws.has(Flaw::ExpiryNotCleared);
    let touch = sqlx::query(if flawed { TOUCH_BUT_NOT_CLEAR } else { TOUCH });
    let touch = touch.bind(session.as_str()).bind(expires_at.map(clamped));
    match run.write(touch).await?.changes {
        0 => Err(Refusal::SessionNotFound.into()),
        _ => Ok(Reply::Touched),
    }
}

pub(super) async fn stage(run: &mut Run<'_>, stage: &Stage) -> Answer {
    let Stage { session, step, call, at, changes } = stage;
    let changes = to_json(changes)?;
    let statement = match run.flaws {
        flaws if flaws.has(Flaw::FirstStageKept) => STAGE_ONCE,
        flaws if flaws.has(Flaw::StepNotClosed) => STAGE_ANYWHERE,
        _ => STAGE,
    };
    loop {
        let query = sqlx::query(statement)
            .bind(session.as_str())
            .bind(step.as_str())
            .bind(call.as_str())
            .bind(clamped(*at))
            .bind(&changes);
        if run.write(query).await?.changes > 0 {
            return Ok(Reply::Staged);
        }
        let rows = run.read(sqlx::query(LAST_STEP).bind(session.as_str())).await?;
        if optional_text(existing(&rows)?, 0)? == Some(step) {
            return Err(Refusal::StepClosed.into());
        }
    }
}

pub(super) async fn discard(run: &mut Run<'_>, session: &Id, step: &Id) -> Answer {
    loop {
        let discard = sqlx::query(DISCARD).bind(session.as_str()).bind(step.as_str());
        let calls = run.write(discard).await?.changes;
        if calls > 0 {
            return Ok(Reply::Discarded { calls });
        }
        let read = sqlx::query(IS_STAGED).bind(session.as_str()).bind(step.as_str());
        let rows = run.read(read).await?;
        if integer(existing(&rows)?, 0)? == 0 {
            return Ok(Reply::Discarded { calls });
        }
    }
}

pub(super) async fn compare_and_set_status(
    run: &mut Run<'_>,
    session: &Id,
    from: &[Status],
    to: Status,
) -> Answer {
    let names = to_json(from)?;
    loop {
        let flawed = run.flaws.has(Flaw::StatusNotCompared);
        let set = sqlx::query(if flawed { SET_STATUS_WHATEVER_IT_IS } else { SET_STATUS });
        let set = set.bind(session.as_str()).bind(to.as_str()).bind(&names);
        if let Some(row) = only(&run.write(set).await?.rows) {
            return Ok(Reply::StatusSet { version: unsigned(row, 0)? });
        }
        let rows = run.read(sqlx::query(STATUS).bind(session.as_str())).await?;
        let row = existing(&rows)?;
        let (status, version) = (status(row, 0)?, unsigned(row, 1)?);
        if !from.contains(&status) {
            return Err(Refusal::StatusMismatch { status, version }.into());
        }
    }
}

pub(super) async fn begin_run(run: &mut Run<'_>, session: &Id, begun: &Id) -> Answer {
    loop {
        let begin = sqlx::query(BEGIN_RUN).bind(session.as_str()).bind(begun.as_str());
        if let Some(row) = only(&run.write(begin).await?.rows) {
            return Ok(Reply::RunBegun { turn: unsigned(row, 0)? });
        }
        let read = sqlx::query(TURN).bind(session.as_str()).bind(begun.as_str());
        let rows = run.read(read).await?;
        if let Some(turn) = optional_unsigned(existing(&rows)?, 0)? {
            return Ok(Reply::RunBegun { turn });
        }
    }
}

pub(super) async fn request_interrupt(run: &mut Run<'_>, session: &Id) -> Answer {
    match run.write(sqlx::query(REQUEST_INTERRUPT).bind(session.as_str())).await?.changes {
        0 => Err(Refusal::SessionNotFound.into()),
        _ => Ok(Reply::InterruptRequested),
    }
}

pub(super) async fn consume_interrupt(run: &mut Run<'_>, session: &Id) -> Answer {
    loop {
        let kept = run.flaws.has(Flaw::InterruptNotCleared);
        let take = sqlx::query(if kept { SEE_INTERRUPT } else { TAKE_INTERRUPT });
        let take = take.bind(session.as_str());
        if run.write(take).await?.changes > 0 {
            return Ok(Reply::Interrupt { taken: true });
        }
        let rows = run.read(sqlx::query(INTERRUPT).bind(session.as_str())).await?;
        if integer(existing(&rows)?, 0)? == 0 {
            return Ok(Reply::Interrupt { taken: false });
        }
    }
}

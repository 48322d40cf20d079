//! The operations that one statement on the session's row carries out.
//!
//! Each write carries in its WHERE all that it depends on, in the row that it locks; if it
//! has to wait for the lock, PostgreSQL judges the row anew. Where it changed no row, one
//! read says why; what the read can no longer explain has changed in between, and the
//! operation goes round again, for its write had no effect. A round is only lost to another
//! writer's success, and the deadline bounds them all.

use sqlx::postgres::PgRow;
use stagefault_models::{Id, Millis, Refusal, Reply, Status};

use super::failure::Stop;
use super::planted::{Planting, text};
use super::row::{clamped, flag, only, optional_unsigned, status, unsigned};
use super::run::Run;
use crate::flaws::Flaw;

const CREATE: &str = "
    INSERT INTO sessions (session, version, status, interrupt, expires_at, state)
    VALUES ($1, 1, $2, false, $3, '{}') ON CONFLICT (session) DO NOTHING";

pub(super) const VERSION: &str = "SELECT version FROM sessions WHERE session = $1";

/// All that hangs on the session goes with its row, by the foreign keys.
const DELETE: &str = "DELETE FROM sessions WHERE session = $1";

const TOUCH: &str = "UPDATE sessions SET expires_at = $2 WHERE session = $1";

const TOUCH_FLAW: Planting = (Flaw::ExpiryNotCleared, "$2", "coalesce($2, expires_at)");

const SET_STATUS: &str = "
    UPDATE sessions SET revision = revision + 1, version = version + 1, status = $2
    WHERE session = $1 AND status = ANY ($3) RETURNING version";

const SET_STATUS_FLAW: Planting = (Flaw::StatusNotCompared, " AND status = ANY ($3)", "");

pub(super) const STATUS: &str = "SELECT status, version FROM sessions WHERE session = $1";

/// The turn is guessed from what the statement sees. If another run got it meanwhile, the
/// table's key makes this one change nothing. The lock ties the runs that are counted to
/// the session that they are of: one deleted and created again begins at turn 1.
const BEGIN_RUN: &str = "
    INSERT INTO runs (session, turn, run)
    SELECT session, coalesce((SELECT max(turn) FROM runs WHERE session = $1), 0) + 1, $2
    FROM sessions WHERE session = $1 FOR KEY SHARE
    ON CONFLICT DO NOTHING RETURNING turn";

const TURN: &str = "
    SELECT (SELECT turn FROM runs WHERE session = $1 AND run = $2)
    FROM sessions WHERE session = $1";

const REQUEST_INTERRUPT: &str = "UPDATE sessions SET interrupt = true WHERE session = $1";

const TAKE_INTERRUPT: &str = "
    UPDATE sessions SET interrupt = false WHERE session = $1 AND interrupt";

const TAKE_INTERRUPT_FLAW: Planting = (Flaw::InterruptNotCleared, "false", "true");

pub(super) const INTERRUPT: &str = "SELECT interrupt FROM sessions WHERE session = $1";

type Answer = Result<Reply, Stop>;

/// The session's row, as a read shows it.
pub(super) fn existing(rows: &[PgRow]) -> Result<&PgRow, Refusal> {
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
    let touch = sqlx::query(text(TOUCH, run.flaws, &[TOUCH_FLAW]));
    let touch = touch.bind(session.as_str()).bind(expires_at.map(clamped));
    match run.write(touch).await?.changes {
        0 => Err(Refusal::SessionNotFound.into()),
        _ => Ok(Reply::Touched),
    }
}

pub(super) async fn compare_and_set_status(
    run: &mut Run<'_>,
    session: &Id,
    from: &[Status],
    to: Status,
) -> Answer {
    let names: Vec<&str> = from.iter().map(|status| status.as_str()).collect();
    loop {
        let set = sqlx::query(text(SET_STATUS, run.flaws, &[SET_STATUS_FLAW]));
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
        let take = sqlx::query(text(TAKE_INTERRUPT, run.flaws, &[TAKE_INTERRUPT_FLAW]));
        if run.write(take.bind(session.as_str())).await?.changes > 0 {
            return Ok(Reply::Interrupt { taken: true });
        }
        let rows = run.read(sqlx::query(INTERRUPT).bind(session.as_str())).await?;
        if !flag(existing(&rows)?, 0)? {
            return Ok(Reply::Interrupt { taken: false });
        }
    }
}

//! Client tool calls: registered once, then submitted or expired, once.
//!
//! Each write carries in its WHERE all that it depends on. Where it changed no row, one
//! read says why; what the read can no longer explain has changed in between, and the
//! operation goes round again, for its write had no effect.

use sqlx::sqlite::SqliteRow;
use stagefault_models::{CallState, Id, Millis, Refusal, Reply, Resolution, Value};

use super::failure::Stop;
use super::row::{Read, call_state, clamped, id, only, optional_text, unsigned};
use super::run::Run;
use crate::flaws::Flaw;

const REGISTER: &str = "
    INSERT INTO calls (session, call, run, deadline, state)
    SELECT session, ?2, ?3, ?4, 'pending' FROM sessions WHERE session = ?1
    ON CONFLICT (session, call) DO NOTHING";

/// With [`Flaw::RegistrationReopens`].
const REGISTER_OR_REOPEN: &str = "
    INSERT INTO calls (session, call, run, deadline, state)
    SELECT session, ?2, ?3, ?4, 'pending' FROM sessions WHERE session = ?1
    ON CONFLICT (session, call) DO UPDATE SET state = 'pending', result = NULL
    WHERE run = excluded.run AND deadline = excluded.deadline";

const SUBMIT: &str = "
    UPDATE calls SET state = 'submitted', result = ?5
    WHERE session = ?1 AND call = ?2 AND run = ?3 AND state = 'pending' AND deadline > ?4";

/// With [`Flaw::FenceIgnored`].
const SUBMIT_FROM_ANY_RUN: &str = "
    UPDATE calls SET state = 'submitted', result = ?5
    WHERE session = ?1 AND call = ?2 AND ?3 IS NOT NULL AND state = 'pending' AND deadline > ?4";

/// With [`Flaw::SecondResultWins`].
const SUBMIT_AGAIN: &str = "
    UPDATE calls SET state = 'submitted', result = ?5
    WHERE session = ?1 AND call = ?2 AND run = ?3 AND state <> 'expired' AND deadline > ?4";

/// One row if the session is there, of nulls if the call is not.
const READ: &str = "
    SELECT calls.run, calls.deadline, calls.state, calls.result
    FROM sessions LEFT JOIN calls ON calls.session = sessions.session AND calls.call = ?2
    WHERE sessions.session = ?1";

/// A call as it is stored.
pub(super) struct Known {
    pub(super) run: Id,
    pub(super) deadline: Millis,
    pub(super) state: CallState,
}

pub(super) async fn register_call(
    run: &mut Run<'_>,
    session: &Id,
    call: &Id,
    by: &Id,
    deadline: Millis,
) -> Result<Reply, Stop> {
    loop {
        let reopens = run.flaws.has(Flaw::RegistrationReopens);
        let register = sqlx::query(if reopens { REGISTER_OR_REOPEN } else { REGISTER })
            .bind(session.as_str())
            .bind(call.as_str())
            .bind(by.as_str())
            .bind(clamped(deadline));
        if run.write(register).await?.changes > 0 {
            return Ok(Reply::Registered);
        }
        match read_call(run, session, call).await? {
            Some(known) if known.run == *by && known.deadline == deadline => {
                return Ok(Reply::Registered);
            }
            Some(_) => return Err(Refusal::CallConflict.into()),
            // The session came, or came again, in between.
            None => {}
        }
    }
}

pub(super) async fn submit_result(
    run: &mut Run<'_>,
    session: &Id,
    call: &Id,
    by: &Id,
    result: &Value,
    now: Millis,
) -> Result<Reply, Stop> {
    let text = result.to_json();
    let statement = match run.flaws {
        flaws if flaws.has(Flaw::FenceIgnored) => SUBMIT_FROM_ANY_RUN,
        flaws if flaws.has(Flaw::SecondResultWins) => SUBMIT_AGAIN,
        _ => SUBMIT,
    };
    // Every deadline is later than that.
    let guard = if run.flaws.has(Flaw::DeadlineIgnored) { -1 } else { clamped(now) };
    loop {
        let submit = sqlx::query(statement)
            .bind(session.as_str())
            .bind(call.as_str())
            .bind(by.as_str())
            .bind(guard)
            .bind(&text);
        if run.write(submit).await?.changes > 0 {
            return Ok(Reply::Submitted);
        }
        let known = read_call(run, session, call).await?.ok_or(Refusal::UnknownCall)?;
        if known.run != *by {
            return Err(Refusal::RunFenced { run: known.run }.into());
        }
        match known.state {
            CallState::Submitted(earlier) if earlier == *result => return Ok(Reply::Submitted),
            CallState::Submitted(_) => return Err(resolved(Resolution::Submitted)),
            CallState::Expired => return Err(resolved(Resolution::Expired)),
            CallState::Pending if now >= known.deadline => return Err(Refusal::CallExpired.into()),
            // It was registered, perhaps again, in between.
            CallState::Pending => {}
        }
    }
}

pub(super) fn resolved(resolution: Resolution) -> Stop {
    Refusal::CallResolved { resolution }.into()
}

/// The call, if the session has one of this id.
pub(super) async fn read_call(
    run: &mut Run<'_>,
    session: &Id,
    call: &Id,
) -> Result<Option<Known>, Stop> {
    let query = sqlx::query(READ).bind(session.as_str()).bind(call.as_str());
    let rows = run.read(query).await?;
    let row = only(&rows).ok_or(Refusal::SessionNotFound)?;
    Ok(known(row)?)
}

fn known(row: &SqliteRow) -> Read<Option<Known>> {
    if optional_text(row, 0)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Known { run: id(row, 0)?, deadline: unsigned(row, 1)?, state: call_state(row, 2)? }))
}

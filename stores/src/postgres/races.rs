//! Planted races: operations that look first and write afterwards, in two statements with
//! nothing to hold them together.

use sqlx::postgres::PgRow;
use stagefault_models::{
    CallState, CleanedStaging, ExpiredCall, Id, Millis, Operation, Refusal, Reply, Resolution,
    Snapshot, Stage, Status,
};

use super::calls::{Known, read_call, resolved};
use super::failure::Stop;
use super::load::load;
use super::row::{
    clamped, flag, id, only, optional_text, optional_unsigned, status, to_json, unsigned,
};
use super::run::Run;
use super::session::{INTERRUPT, STATUS, VERSION, existing};
use super::staging::LAST_STEP;
use crate::flaws::{Flaw, Flaws};

type Answer = Result<Reply, Stop>;

/// As the store stages, but for the guard.
const STAGE: &str = "
    WITH head AS (
        UPDATE sessions SET stagings = stagings + 1, staged_step = $2 WHERE session = $1
        RETURNING session
    )
    INSERT INTO staged (session, step, call, at, changes)
    SELECT session, $2, $3, $4, $5 FROM head
    ON CONFLICT (session, step, call) DO UPDATE SET at = excluded.at, changes = excluded.changes";

/// As the store discards, but for the guard.
const DISCARD: &str = "
    WITH head AS (
        UPDATE sessions SET revision = revision + 1 WHERE session = $1 RETURNING session
    )
    DELETE FROM staged USING head WHERE staged.session = head.session AND staged.step = $2";

const REMOVE_STAGING: &str = "
    DELETE FROM staged WHERE at <= $1 - $2 RETURNING session, step, call";

/// Whether the operation is one that a planted flaw takes apart.
pub(super) fn is_planted(flaws: Flaws, operation: &Operation) -> bool {
    let flaw = match operation {
        Operation::CreateSession { .. } => Flaw::CreateChecksFirst,
        Operation::Load { .. } => Flaw::LoadInParts,
        Operation::Stage(_) => Flaw::StageChecksFirst,
        Operation::Discard { .. } => Flaw::DiscardCountsFirst,
        Operation::CompareAndSetStatus { .. } => Flaw::StatusComparedFirst,
        Operation::BeginRun { .. } => Flaw::RunsCountedFirst,
        Operation::ConsumeInterrupt { .. } => Flaw::InterruptSeenFirst,
        Operation::RegisterCall { .. } => Flaw::RegisterChecksFirst,
        Operation::SubmitResult { .. } => Flaw::SubmitChecksFirst,
        Operation::ExpireCalls { .. } => Flaw::ExpiryListsFirst,
        Operation::Cleanup { .. } if flaws.has(Flaw::StagingListedFirst) => return true,
        Operation::Cleanup { .. } => Flaw::CleanupListsFirst,
        _ => return false,
    };
    flaws.has(flaw)
}

/// Executes the operation in two halves.
pub(super) async fn execute(run: &mut Run<'_>, operation: &Operation) -> Answer {
    match operation {
        Operation::CreateSession { session, expires_at } => create(run, session, *expires_at).await,
        Operation::Load { session } => load_in_parts(run, session).await,
        Operation::Stage(request) => stage(run, request).await,
        Operation::Discard { session, step } => discard(run, session, step).await,
        Operation::CompareAndSetStatus { session, from, to } => {
            set_status(run, session, from, *to).await
        }
        Operation::BeginRun { session, run: begun } => begin_run(run, session, begun).await,
        Operation::ConsumeInterrupt { session } => consume_interrupt(run, session).await,
        Operation::RegisterCall { .. } => register(run, operation).await,
        Operation::SubmitResult { .. } => submit(run, operation).await,
        Operation::ExpireCalls { now } => expire_calls(run, *now).await,
        Operation::Cleanup { now, staging_ttl } => cleanup(run, *now, *staging_ttl).await,
        _ => unreachable!("the others have no race planted here"),
    }
}

/// What the session's row shows.
async fn look(run: &mut Run<'_>, sql: &'static str, session: &Id) -> Result<PgRow, Stop> {
    let mut rows = run.read(sqlx::query(sql).bind(session.as_str())).await?;
    existing(&rows)?;
    Ok(rows.swap_remove(0))
}

async fn create(run: &mut Run<'_>, session: &Id, expires_at: Option<Millis>) -> Answer {
    let rows = run.read(sqlx::query(VERSION).bind(session.as_str())).await?;
    if let Some(row) = only(&rows) {
        return Err(Refusal::SessionExists { version: unsigned(row, 0)? }.into());
    }
    let sql = "INSERT INTO sessions (session, version, status, interrupt, expires_at, state)
        VALUES ($1, 1, $2, false, $3, '{}') ON CONFLICT (session) DO UPDATE
        SET version = 1, status = excluded.status, expires_at = excluded.expires_at";
    let create = sqlx::query(sql).bind(session.as_str()).bind(Status::Active.as_str());
    run.write(create.bind(expires_at.map(clamped))).await?;
    Ok(Reply::Created { version: 1 })
}

async fn load_in_parts(run: &mut Run<'_>, session: &Id) -> Answer {
    let Reply::Snapshot(first) = load(run, session).await? else {
        unreachable!("a load answers with a snapshot")
    };
    let Reply::Snapshot(second) = load(run, session).await? else {
        unreachable!("a load answers with a snapshot")
    };
    let Snapshot { message_count, staged, calls, .. } = second.into_inner();
    let mixed = Snapshot { message_count, staged, calls, ..first.into_inner() };
    Ok(Reply::Snapshot(mixed.into()))
}

async fn stage(run: &mut Run<'_>, request: &Stage) -> Answer {
    let Stage { session, step, call, at, changes } = request;
    if optional_text(&look(run, LAST_STEP, session).await?, 0)? == Some(step) {
        return Err(Refusal::StepClosed.into());
    }
    let stage = sqlx::query(STAGE)
        .bind(session.as_str())
        .bind(step.as_str())
        .bind(call.as_str())
        .bind(clamped(*at))
        .bind(to_json(changes)?);
    found(run.write(stage).await?.changes, Reply::Staged)
}

/// The reply, unless the session has gone.
fn found(changes: u64, reply: Reply) -> Answer {
    if changes == 0 { Err(Refusal::SessionNotFound.into()) } else { Ok(reply) }
}

async fn discard(run: &mut Run<'_>, session: &Id, step: &Id) -> Answer {
    let count = "SELECT (SELECT count(*) FROM staged WHERE session = $1 AND step = $2)
        FROM sessions WHERE session = $1";
    let rows = run.read(sqlx::query(count).bind(session.as_str()).bind(step.as_str())).await?;
    let calls = unsigned(existing(&rows)?, 0)?;
    let discard = sqlx::query(DISCARD);
    run.write(discard.bind(session.as_str()).bind(step.as_str())).await?;
    Ok(Reply::Discarded { calls })
}

async fn set_status(run: &mut Run<'_>, session: &Id, from: &[Status], to: Status) -> Answer {
    let row = look(run, STATUS, session).await?;
    let (status, version) = (status(&row, 0)?, unsigned(&row, 1)?);
    if !from.contains(&status) {
        return Err(Refusal::StatusMismatch { status, version }.into());
    }
    let set = sqlx::query(
        "UPDATE sessions SET revision = revision + 1, status = $2, version = $3
        WHERE session = $1",
    );
    let set = set.bind(session.as_str()).bind(to.as_str()).bind(clamped(version + 1));
    found(run.write(set).await?.changes, Reply::StatusSet { version: version + 1 })
}

async fn begin_run(run: &mut Run<'_>, session: &Id, begun: &Id) -> Answer {
    let count = "SELECT (SELECT turn FROM runs WHERE session = $1 AND run = $2),
        (SELECT count(*) FROM runs WHERE session = $1) FROM sessions WHERE session = $1";
    let rows = run.read(sqlx::query(count).bind(session.as_str()).bind(begun.as_str())).await?;
    let row = existing(&rows)?;
    if let Some(turn) = optional_unsigned(row, 0)? {
        return Ok(Reply::RunBegun { turn });
    }
    let turn = unsigned(row, 1)? + 1;
    let sql = "INSERT INTO runs (session, turn, run)
        SELECT session, $2, $3 FROM sessions WHERE session = $1
        ON CONFLICT (session, turn) DO UPDATE SET run = excluded.run";
    let begin = sqlx::query(sql).bind(session.as_str()).bind(clamped(turn)).bind(begun.as_str());
    found(run.write(begin).await?.changes, Reply::RunBegun { turn })
}

async fn consume_interrupt(run: &mut Run<'_>, session: &Id) -> Answer {
    if !flag(&look(run, INTERRUPT, session).await?, 0)? {
        return Ok(Reply::Interrupt { taken: false });
    }
    let take = sqlx::query("UPDATE sessions SET interrupt = false WHERE session = $1");
    found(run.write(take.bind(session.as_str())).await?.changes, Reply::Interrupt { taken: true })
}

async fn register(run: &mut Run<'_>, operation: &Operation) -> Answer {
    let Operation::RegisterCall { session, call, run: by, deadline } = operation else {
        unreachable!("it is one that registers")
    };
    if let Some(known) = read_call(run, session, call).await? {
        let same = known.run == *by && known.deadline == *deadline;
        return if same { Ok(Reply::Registered) } else { Err(Refusal::CallConflict.into()) };
    }
    let sql = "INSERT INTO calls (session, call, run, deadline, state)
        SELECT session, $2, $3, $4, 'pending' FROM sessions WHERE session = $1 FOR KEY SHARE
        ON CONFLICT (session, call) DO UPDATE
        SET run = excluded.run, deadline = excluded.deadline, state = 'pending', result = NULL";
    let register = sqlx::query(sql)
        .bind(session.as_str())
        .bind(call.as_str())
        .bind(by.as_str())
        .bind(clamped(*deadline));
    found(run.write(register).await?.changes, Reply::Registered)
}

async fn submit(run: &mut Run<'_>, operation: &Operation) -> Answer {
    let Operation::SubmitResult { session, call, run: by, result, now } = operation else {
        unreachable!("it is one that submits")
    };
    let Known { run: owner, deadline, state } =
        read_call(run, session, call).await?.ok_or(Refusal::UnknownCall)?;
    if owner != *by {
        return Err(Refusal::RunFenced { run: owner }.into());
    }
    match state {
        CallState::Submitted(earlier) if earlier == *result => return Ok(Reply::Submitted),
        CallState::Submitted(_) => return Err(resolved(Resolution::Submitted)),
        CallState::Expired => return Err(resolved(Resolution::Expired)),
        CallState::Pending if *now >= deadline => return Err(Refusal::CallExpired.into()),
        CallState::Pending => {}
    }
    let sql = "UPDATE calls SET state = 'submitted', result = $3 WHERE session = $1 AND call = $2";
    let submit = sqlx::query(sql).bind(session.as_str()).bind(call.as_str()).bind(result.to_json());
    found(run.write(submit).await?.changes, Reply::Submitted)
}

async fn expire_calls(run: &mut Run<'_>, now: Millis) -> Answer {
    let list = "SELECT session, call FROM calls WHERE state = 'pending' AND deadline <= $1";
    let mut expired = Vec::new();
    for row in run.read(sqlx::query(list).bind(clamped(now))).await? {
        let due = ExpiredCall { session: id(&row, 0)?, call: id(&row, 1)? };
        let sql = "UPDATE calls SET state = 'expired', result = NULL
            WHERE session = $1 AND call = $2";
        let expire = sqlx::query(sql).bind(due.session.as_str());
        if run.write(expire.bind(due.call.as_str())).await?.changes > 0 {
            expired.push(due);
        }
    }
    Ok(Reply::CallsExpired(expired))
}

async fn cleanup(run: &mut Run<'_>, now: Millis, staging_ttl: Millis) -> Answer {
    match run.flaws.has(Flaw::CleanupListsFirst) {
        true => clean_listed_sessions(run, now, staging_ttl).await,
        false => clean_listed_staging(run, now, staging_ttl).await,
    }
}

async fn clean_listed_sessions(run: &mut Run<'_>, now: Millis, staging_ttl: Millis) -> Answer {
    let (mut sessions, mut staged) = (Vec::new(), Vec::new());
    let list = "SELECT session FROM sessions WHERE expires_at <= $1";
    for row in run.read(sqlx::query(list).bind(clamped(now))).await? {
        let session = id(&row, 0)?;
        let remove = sqlx::query("DELETE FROM sessions WHERE session = $1");
        if run.write(remove.bind(session.as_str())).await?.changes > 0 {
            sessions.push(session);
        }
    }
    let remove = sqlx::query(REMOVE_STAGING).bind(clamped(now)).bind(clamped(staging_ttl));
    for row in run.write(remove).await?.rows {
        staged.push(mark(&row)?);
    }
    Ok(Reply::Cleaned { sessions, staged })
}

async fn clean_listed_staging(run: &mut Run<'_>, now: Millis, staging_ttl: Millis) -> Answer {
    let (mut sessions, mut staged) = (Vec::new(), Vec::new());
    let list = "SELECT session, step, call FROM staged WHERE at <= $1 - $2";
    let list = sqlx::query(list).bind(clamped(now)).bind(clamped(staging_ttl));
    let listed = run.read(list).await?;
    let remove = sqlx::query("DELETE FROM sessions WHERE expires_at <= $1 RETURNING session");
    for row in run.write(remove.bind(clamped(now))).await?.rows {
        sessions.push(id(&row, 0)?);
    }
    for row in &listed {
        let mark = mark(row)?;
        let sql = "DELETE FROM staged WHERE session = $1 AND step = $2 AND call = $3";
        let remove = sqlx::query(sql)
            .bind(mark.session.as_str())
            .bind(mark.step.as_str())
            .bind(mark.call.as_str());
        if run.write(remove).await?.changes > 0 {
            staged.push(mark);
        }
    }
    Ok(Reply::Cleaned { sessions, staged })
}

fn mark(row: &PgRow) -> Result<CleanedStaging, Stop> {
    Ok(CleanedStaging { session: id(row, 0)?, step: id(row, 1)?, call: id(row, 2)? })
}

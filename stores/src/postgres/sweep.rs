//! The two sweeps, over every session of the schema.
//!
//! A sweep first looks for the sessions that it has something to do in; mostly there is
//! none. Those it locks, in the order of their ids, so that two sweeps do not wait for each
//! other, and in a statement of its own: only the next statement sees what the sessions were
//! when they were locked. That one decides anew and writes, and until the commit nobody can
//! register a call, stage, promote or touch there. So each session is swept at one moment;
//! one that was not found to need it is swept at the moment of the look, with no effect.

use sqlx::postgres::PgRow;
use stagefault_models::{CleanedStaging, ExpiredCall, Failure, Id, Millis, Reply};

use super::planted::{Planting, text};
use super::row::{Read, clamped, id, optional_text, texts};
use super::run::{Query, Run, Transaction};
use crate::flaws::Flaw;

const LOCK: &str = "
    SELECT session FROM sessions WHERE session = ANY ($1) ORDER BY session FOR UPDATE";

const WITH_EXPIRED_CALLS: &str = "
    SELECT DISTINCT session FROM calls WHERE state = 'pending' AND deadline <= $1";

/// In both statements about calls.
const EXPIRE_CALLS_FLAW: Planting =
    (Flaw::ExpiredTwice, "state = 'pending'", "state <> 'submitted'");

const EXPIRE_CALLS: &str = "
    UPDATE calls SET state = 'expired'
    WHERE session = ANY ($1) AND state = 'pending' AND deadline <= $2 RETURNING session, call";

/// What a sweep with one of these flaws does instead of all this.
static EXPIRE_CALLS_AT_ONCE: [(Flaw, &str); 2] = [
    (
        Flaw::SweepOfOneUpdate,
        "UPDATE calls SET state = 'expired'
         WHERE state = 'pending' AND deadline <= $1 RETURNING session, call",
    ),
    (
        Flaw::SweepLocksInTheWrite,
        "WITH locked AS (
             SELECT session FROM sessions
             WHERE session IN (SELECT session FROM calls
                               WHERE state = 'pending' AND deadline <= $1)
             ORDER BY session FOR UPDATE
         )
         UPDATE calls SET state = 'expired' FROM locked
         WHERE calls.session = locked.session AND state = 'pending' AND deadline <= $1
         RETURNING calls.session, calls.call",
    ),
];

/// A time to live longer than `now` leaves a negative time, before all staging.
const TO_CLEAN: &str = "
    SELECT session FROM sessions WHERE expires_at <= $1
    UNION
    SELECT session FROM staged WHERE at <= $1 - $2";

/// All that hangs on a removed session goes with its row, by the foreign keys.
const CLEAN: &str = "
    WITH removed AS (
        DELETE FROM sessions WHERE session = ANY ($1) AND expires_at <= $2 RETURNING session
    ), cleaned AS (
        DELETE FROM staged USING sessions
        WHERE sessions.session = ANY ($1) AND (sessions.expires_at <= $2) IS NOT TRUE
          AND staged.session = sessions.session AND staged.at <= $2 - $3
        RETURNING staged.session, staged.step, staged.call
    ), revised AS (
        UPDATE sessions SET revision = revision + 1
        WHERE session IN (SELECT session FROM cleaned)
    )
    SELECT session, NULL::text, NULL::text FROM removed
    UNION ALL
    SELECT session, step, call FROM cleaned";

const CLEAN_FLAW: Planting =
    (Flaw::StagingOutlivesItsTime, "staged.at <= $2 - $3", "staged.at <= $2 - $3 AND false");

pub(super) async fn expire_calls(run: &mut Run<'_>, now: Millis) -> Result<Reply, Failure> {
    let flaws = run.flaws;
    let find = sqlx::query(text(WITH_EXPIRED_CALLS, flaws, &[EXPIRE_CALLS_FLAW]));
    let find = find.bind(clamped(now));
    let mut expired = Vec::new();
    if let Some((_, sql)) = EXPIRE_CALLS_AT_ONCE.iter().find(|(flaw, _)| flaws.has(*flaw)) {
        expired = expired_calls(&run.write(sqlx::query(*sql).bind(clamped(now))).await?.rows)?;
    } else if let Some((mut transaction, sessions)) = lock_those(run, find).await? {
        let expire = sqlx::query(text(EXPIRE_CALLS, flaws, &[EXPIRE_CALLS_FLAW]));
        let expire = expire.bind(texts(&sessions)).bind(clamped(now));
        expired = expired_calls(&transaction.execute(expire).await?.rows)?;
        end(transaction, expired.is_empty()).await?;
    }
    Ok(sorted(Reply::CallsExpired(expired)))
}

pub(super) async fn cleanup(
    run: &mut Run<'_>,
    now: Millis,
    staging_ttl: Millis,
) -> Result<Reply, Failure> {
    let flaws = run.flaws;
    let find = sqlx::query(TO_CLEAN).bind(clamped(now)).bind(clamped(staging_ttl));
    let (mut removed, mut staged) = (Vec::new(), Vec::new());
    if let Some((mut transaction, sessions)) = lock_those(run, find).await? {
        let clean = sqlx::query(text(CLEAN, flaws, &[CLEAN_FLAW]))
            .bind(texts(&sessions))
            .bind(clamped(now))
            .bind(clamped(staging_ttl));
        for row in &transaction.execute(clean).await?.rows {
            let session = id(row, 0)?;
            match optional_text(row, 1)?.map(Id::from) {
                None => removed.push(session),
                Some(step) => staged.push(CleanedStaging { session, step, call: id(row, 2)? }),
            }
        }
        end(transaction, removed.is_empty() && staged.is_empty()).await?;
    }
    Ok(sorted(Reply::Cleaned { sessions: removed, staged }))
}

/// Begins a transaction and locks the sessions that the query finds; `None`: it finds none.
async fn lock_those<'r, 'a>(
    run: &'r mut Run<'a>,
    find: Query,
) -> Result<Option<(Transaction<'r, 'a>, Vec<Id>)>, Failure> {
    let found = sessions(&run.read(find).await?)?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut transaction = run.begin().await?;
    let lock = sqlx::query(LOCK).bind(texts(&found));
    // Those that were deleted meanwhile are not among them.
    let locked = sessions(&transaction.execute(lock).await?.rows)?;
    Ok(Some((transaction, locked)))
}

fn expired_calls(rows: &[PgRow]) -> Read<Vec<ExpiredCall>> {
    rows.iter().map(|row| Ok(ExpiredCall { session: id(row, 0)?, call: id(row, 1)? })).collect()
}

fn sessions(rows: &[PgRow]) -> Read<Vec<Id>> {
    rows.iter().map(|row| id(row, 0)).collect()
}

async fn end(transaction: Transaction<'_, '_>, nothing_done: bool) -> Result<(), Failure> {
    if nothing_done {
        transaction.rollback().await;
        return Ok(());
    }
    transaction.commit().await
}

fn sorted(mut reply: Reply) -> Reply {
    reply.sort();
    reply
}

//! The two sweeps, over every session of the database.

use stagefault_models::{CleanedStaging, ExpiredCall, Failure, Millis, Reply};

use super::row::{clamped, id};
use super::run::Run;
use crate::flaws::Flaw;

const EXPIRE_CALLS: &str = "
    UPDATE calls SET state = 'expired' WHERE state = 'pending' AND deadline <= ?1
    RETURNING session, call";

/// With [`Flaw::ExpiredTwice`].
const EXPIRE_CALLS_AGAIN: &str = "
    UPDATE calls SET state = 'expired' WHERE state IN ('pending', 'expired') AND deadline <= ?1
    RETURNING session, call";

/// All that hangs on a session goes with its row, by the foreign keys.
const REMOVE_SESSIONS: &str = "BEGIN IMMEDIATE;
    DELETE FROM sessions WHERE expires_at <= ?1 RETURNING session";

/// A time to live longer than `now` leaves a negative time, before all staging.
pub(super) const REMOVE_STAGING: &str = "
    DELETE FROM staged WHERE at <= ?1 - ?2 RETURNING session, step, call";

pub(super) async fn expire_calls(run: &mut Run<'_>, now: Millis) -> Result<Reply, Failure> {
    let again = run.flaws.has(Flaw::ExpiredTwice);
    let expire = sqlx::query(if again { EXPIRE_CALLS_AGAIN } else { EXPIRE_CALLS });
    let answer = run.write(expire.bind(clamped(now))).await?;
    let mut expired = Vec::with_capacity(answer.rows.len());
    for row in &answer.rows {
        expired.push(ExpiredCall { session: id(row, 0)?, call: id(row, 1)? });
    }
    Ok(sorted(Reply::CallsExpired(expired)))
}

pub(super) async fn cleanup(
    run: &mut Run<'_>,
    now: Millis,
    staging_ttl: Millis,
) -> Result<Reply, Failure> {
    let (mut sessions, mut staged) = (Vec::new(), Vec::new());
    let remove = sqlx::query(REMOVE_SESSIONS).bind(clamped(now));
    let (mut transaction, rows) = run.begin(remove).await?;
    for row in &rows {
        sessions.push(id(row, 0)?);
    }
    // After the sessions, so that the staging of a removed one is not listed.
    // Before all staging, with the flaw.
    let kept = transaction.flaws().has(Flaw::StagingOutlivesItsTime);
    let latest = if kept { -1 } else { clamped(now) };
    let remove = sqlx::query(REMOVE_STAGING).bind(latest).bind(clamped(staging_ttl));
    for row in &transaction.execute(remove).await?.rows {
        let (session, step, call) = (id(row, 0)?, id(row, 1)?, id(row, 2)?);
        staged.push(CleanedStaging { session, step, call });
    }
    if sessions.is_empty() && staged.is_empty() {
        transaction.rollback().await;
    } else {
        transaction.commit().await?;
    }
    Ok(sorted(Reply::Cleaned { sessions, staged }))
}

fn sorted(mut reply: Reply) -> Reply {
    reply.sort();
    reply
}

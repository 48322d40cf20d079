//! Planted: a promote that is several statements, as most stores have it, and three ways in
//! which such a one goes wrong when a statement fails or its connection breaks.
//!
//! The store itself promotes by a single guarded statement, in which there is no place for
//! these.

use stagefault_models::{Cause, Failure, Promote, Reply};

use super::failure::Stop;
use super::guarded::LOCK;
use super::promote::{Plan, read};
use super::row::clamped;
use super::run::{Query, Run};
use crate::flaws::{Flaw, Flaws};

const UPDATE_SESSION: &str = "
    UPDATE sessions SET revision = revision + 1, version = version + 1,
                        status = coalesce($3, status), last_step = $4,
                        state = coalesce($5, state)
    WHERE session = $1 AND revision = $2 AND stagings = $6";

const CLEAR_STAGING: &str = "DELETE FROM staged WHERE session = $1 AND step = $2";

const APPEND: &str = "
    INSERT INTO messages (session, position, id, body)
    SELECT $1, $2 + new.number - 1, new.id, new.body
    FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS new (id, body, number)";

/// Whether a promote is several statements.
pub(super) fn is_planted(flaws: Flaws) -> bool {
    [Flaw::StatementByStatement, Flaw::StatementReplayedOutside, Flaw::ErrorSwallowed]
        .into_iter()
        .any(|flaw| flaws.has(flaw))
}

pub(super) async fn promote(run: &mut Run<'_>, request: &Promote) -> Result<Reply, Stop> {
    if run.flaws.has(Flaw::StatementByStatement) {
        return one_by_one(run, request).await;
    }
    let mut ended = Ended { plan: None, sent: 0 };
    let flaws = run.flaws;
    match in_a_transaction(run, request, &mut ended).await {
        Err(Stop::Failed(failure)) if is_replayed(flaws, &failure) => {
            let Some(plan) = ended.plan else { return Err(failure.into()) };
            run.link.prepare(run.scope.deadline).await?;
            for write in writes(request, &plan).into_iter().skip(ended.sent) {
                run.write(write).await?;
            }
            Ok(plan.reply())
        }
        answer => answer,
    }
}

/// How far a transaction came.
struct Ended<'m> {
    plan: Option<Plan<'m>>,
    /// How many of the plan's statements were executed.
    sent: usize,
}

async fn in_a_transaction<'m>(
    run: &mut Run<'_>,
    request: &'m Promote,
    ended: &mut Ended<'m>,
) -> Result<Reply, Stop> {
    let flaws = run.flaws;
    let mut transaction = run.begin().await?;
    transaction.execute(sqlx::query(LOCK).bind(request.session.as_str())).await?;
    let rows = transaction.execute(read(request)).await?.rows;
    let plan = match Plan::of(request, &rows, flaws) {
        Ok(plan) => ended.plan.insert(plan),
        Err(stop) => {
            transaction.rollback().await;
            return Err(stop);
        }
    };
    for write in writes(request, plan) {
        transaction.execute(write).await?;
        ended.sent += 1;
    }
    transaction.commit().await?;
    Ok(plan.reply())
}

/// With [`Flaw::StatementByStatement`]: without a transaction, from the guarded one on.
async fn one_by_one(run: &mut Run<'_>, request: &Promote) -> Result<Reply, Stop> {
    loop {
        let rows = run.read(read(request)).await?;
        let plan = Plan::of(request, &rows, run.flaws)?;
        let mut writes = writes(request, &plan).into_iter();
        if let Some(guarded) = writes.next()
            && run.write(guarded).await?.changes > 0
        {
            run.committed_in_between().await;
            for write in writes {
                run.write(write).await?;
                run.committed_in_between().await;
            }
            return Ok(plan.reply());
        }
    }
}

/// Whether what was not executed of a transaction that failed so is sent again.
fn is_replayed(flaws: Flaws, failure: &Failure) -> bool {
    flaws.has(Flaw::StatementReplayedOutside) && failure.cause == Cause::Connection
}

/// The plan's statements, the one that moves the session first.
fn writes(request: &Promote, plan: &Plan<'_>) -> Vec<Query> {
    let (session, step) = (request.session.as_str(), request.step.as_str());
    let update = sqlx::query(UPDATE_SESSION)
        .bind(session)
        .bind(plan.revision)
        .bind(request.status.map(|status| status.as_str()))
        .bind(step)
        .bind(&plan.state)
        .bind(plan.stagings);
    let clear = sqlx::query(CLEAR_STAGING).bind(session).bind(step);
    let (ids, bodies): (Vec<&str>, Vec<&str>) =
        plan.new.iter().map(|(id, body)| (*id, body.as_str())).unzip();
    let append = sqlx::query(APPEND).bind(session).bind(clamped(plan.count)).bind(ids).bind(bodies);
    vec![update, clear, append]
}

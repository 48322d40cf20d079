//! Operations that read, compute, and write under a guard on what they read.
//!
//! The guard is the session's revision and, for what reads the staging, its count of stages:
//! whoever changes anything that such an operation reads moves one of them. A write whose
//! guard fails has had no effect, and the operation goes round again. It is only lost to
//! another writer's success, so somebody always gets on; and the third time the operation
//! takes the session's row first and reads what it holds, so that everybody does. The second
//! time it does not: mostly it has lost to a promote, and reads that it comes too late.

use sqlx::postgres::PgRow;
use stagefault_models::{Failure, Id, Reply};

use super::failure::Stop;
use super::run::{Query, Run, Transaction};

/// In a statement of its own: one that locks and reads reads as of before it had the lock.
pub(super) const LOCK: &str = "SELECT FROM sessions WHERE session = $1 FOR NO KEY UPDATE";

/// What follows from what a round has read.
pub(super) struct Decision {
    /// The guarded write, which changes no row when its guard fails; `None`: nothing to do.
    pub(super) write: Option<Query>,
    pub(super) reply: Reply,
}

/// Reads, decides and writes until a round succeeds.
pub(super) async fn guarded(
    run: &mut Run<'_>,
    session: &Id,
    read: impl Fn() -> Query,
    decide: impl Fn(&[PgRow]) -> Result<Decision, Stop>,
) -> Result<Reply, Stop> {
    let mut lost = 0;
    loop {
        let mut round = match lost {
            0 | 1 => Round::Unlocked(run),
            _ => Round::locked(run, session).await?,
        };
        let rows = round.read(read()).await?;
        match decide(&rows) {
            Ok(Decision { write: Some(write), reply }) => {
                if round.write(write).await? {
                    return Ok(reply);
                }
            }
            Ok(Decision { write: None, reply }) => {
                round.leave().await;
                return Ok(reply);
            }
            Err(stop) => {
                round.leave().await;
                return Err(stop);
            }
        }
        lost += 1;
    }
}

/// One reading and writing.
enum Round<'r, 'a> {
    /// The write is its own transaction.
    Unlocked(&'r mut Run<'a>),
    /// All of it is one transaction, which holds the session's row.
    Locked(Transaction<'r, 'a>),
}

impl<'r, 'a> Round<'r, 'a> {
    async fn locked(run: &'r mut Run<'a>, session: &Id) -> Result<Self, Failure> {
        let mut transaction = run.begin().await?;
        transaction.execute(sqlx::query(LOCK).bind(session.as_str())).await?;
        Ok(Round::Locked(transaction))
    }

    async fn read(&mut self, query: Query) -> Result<Vec<PgRow>, Failure> {
        match self {
            Round::Unlocked(run) => run.read(query).await,
            Round::Locked(transaction) => Ok(transaction.execute(query).await?.rows),
        }
    }

    /// Whether the guard held, and what was written is there to stay.
    async fn write(self, query: Query) -> Result<bool, Failure> {
        match self {
            Round::Unlocked(run) => Ok(run.write(query).await?.changes > 0),
            Round::Locked(mut transaction) => {
                let held = transaction.execute(query).await?.changes > 0;
                if held {
                    transaction.commit().await?;
                } else {
                    transaction.rollback().await;
                }
                Ok(held)
            }
        }
    }

    /// Ends it without a write.
    async fn leave(self) {
        if let Round::Locked(transaction) = self {
            transaction.rollback().await;
        }
    }
}

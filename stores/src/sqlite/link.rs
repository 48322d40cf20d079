//! One connection to the database, and what is known of its state.
//!
//! A connection is a worker thread of sqlx that takes commands in order, so a command
//! once sent is carried out whether or not anybody waits for its answer. Both rules here
//! follow from that: an abandoned transaction is ended by a ROLLBACK that is queued and
//! not waited for, and an answer counts only when the worker has said that each statement
//! is done (of a worker that died, sqlx shows an empty result and no error).

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Either, Executor};
use stagefault_models::{Failure, Scope};

use super::failure::failure;
use super::schema;

/// A statement, or several in one text, with its arguments.
pub(super) type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

/// What a statement brought.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) rows: Vec<SqliteRow>,
    /// How many rows were inserted, updated or deleted.
    pub(super) changes: u64,
}

/// A connection.
pub(super) struct Link {
    /// Absent only while it is replaced.
    connection: Option<SqliteConnection>,
    options: Arc<SqliteConnectOptions>,
    /// How long SQLite waits for a lock; `None` when that is not known for certain.
    patience: Option<Duration>,
    /// Set while a transaction may be open.
    dirty: bool,
}

impl Link {
    pub(super) async fn open(options: Arc<SqliteConnectOptions>) -> Result<Self, sqlx::Error> {
        let mut link = Link { connection: None, options, patience: None, dirty: false };
        link.connect().await?;
        Ok(link)
    }

    async fn connect(&mut self) -> Result<(), sqlx::Error> {
        let patience = patience(Scope::default().deadline);
        let options = self.options.as_ref().clone().busy_timeout(patience);
        self.connection = Some(options.connect().await?);
        self.patience = Some(patience);
        Ok(())
    }

    /// Closes the connection, after all that it was sent.
    pub(super) async fn close(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if let Err(error) = connection.close().await {
            tracing::debug!(%error, "a connection was gone before it was closed");
        }
    }

    /// Brings the database up to date; answers why it must not be touched, if so.
    pub(super) async fn bring_up_to_date(&mut self) -> Result<Option<String>, sqlx::Error> {
        let connection = self.connection.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        schema::bring_up_to_date(connection).await
    }

    /// Makes the connection fit for an operation: in no transaction, and as patient as
    /// the deadline allows.
    pub(super) async fn prepare(&mut self, deadline: Duration) -> Result<(), Failure> {
        if self.dirty {
            self.recover().await.map_err(|error| failure("reconnecting", &error))?;
        }
        let patience = patience(deadline);
        if self.patience != Some(patience) {
            self.patience = None;
            let pragma = format!("PRAGMA busy_timeout = {}", patience.as_millis());
            self.send(sqlx::query(AssertSqlSafe(pragma)).persistent(false), 1)
                .await
                .map_err(|error| failure("preparing the connection", &error))?;
            self.patience = Some(patience);
        }
        Ok(())
    }

    /// Proves that no transaction is open, or takes another connection.
    async fn recover(&mut self) -> Result<(), sqlx::Error> {
        // SQLite refuses to begin a transaction within another one.
        if let Err(error) = self.send(sqlx::query("BEGIN; ROLLBACK"), 2).await {
            tracing::debug!(%error, "a connection is replaced");
            // First the old one, which ends its transaction: its lock would stop the new one.
            self.close().await;
            self.connect().await?;
        }
        self.dirty = false;
        Ok(())
    }

    /// Sends the statements and waits for the answer; `parts` says how many there are.
    pub(super) async fn send(
        &mut self,
        query: Query<'_>,
        parts: usize,
    ) -> Result<Answer, sqlx::Error> {
        let mut answer = Answer::default();
        let mut done = 0;
        // Always to the end: what is left unread would hide the error of an autocommit.
        let connection = self.connection.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        let mut stream = connection.fetch_many(query);
        while let Some(part) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
            match part? {
                Either::Left(result) => {
                    answer.changes = result.rows_affected();
                    done += 1;
                }
                Either::Right(row) => answer.rows.push(row),
            }
        }
        if done == parts { Ok(answer) } else { Err(sqlx::Error::WorkerCrashed) }
    }

    /// A transaction may be open from now on.
    pub(super) fn begun(&mut self) {
        self.dirty = true;
    }

    /// The transaction is over for certain.
    pub(super) fn ended(&mut self) {
        self.dirty = false;
    }

    /// Ends a transaction that nobody waits for, behind all that was sent before.
    ///
    /// The write lock is thus free at once and not at the handle's next use. The link stays
    /// dirty, for what became of the ROLLBACK is not known.
    pub(super) fn abandon(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        let mut rollback = connection.execute("ROLLBACK");
        // One poll sends the command: the queue holds fifty, and one writer fills two.
        let _ = rollback.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}

/// How long SQLite may wait for a lock, so that it can still say in time that it waited
/// in vain.
fn patience(deadline: Duration) -> Duration {
    let patience = (deadline - deadline / 8).as_millis();
    Duration::from_millis(u64::from(i32::try_from(patience).unwrap_or(i32::MAX).unsigned_abs()))
}

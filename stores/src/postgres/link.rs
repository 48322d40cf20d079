//! One connection to the server, kept only while all that was sent on it is answered.
//!
//! While a statement is under way the connection is out of its place, in the hands of the
//! future that waits for the answer. If that future is dropped, be it by its caller or by
//! the deadline, the connection goes with it; nothing that an abandoned operation left, a
//! statement half sent, an answer unread or a transaction, can meet the next one. For the
//! server a connection that is gone ends its transaction: at once, or when the statement
//! that it is at has ended, which the server's own timeouts see to.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnection, PgDatabaseError, PgRow, PgSeverity};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Either, Execute, Executor, Postgres, Row, raw_sql,
};
use stagefault_models::Failure;

use super::failure::{failure, gone, not_ours};
use super::route::Route;
use super::schema::{Found, Schema};
use crate::flaws::{Flaw, Flaws};

/// What a statement brought.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) rows: Vec<PgRow>,
    /// How many rows were inserted, updated, deleted or selected, as the server counts them.
    pub(super) changes: u64,
}

/// A connection, or the place for one.
pub(super) struct Link {
    /// Absent after it broke or was given up, until the next operation makes another.
    connection: Option<PgConnection>,
    schema: Arc<Schema>,
    route: Route,
    /// Whether the schema was there at the last look.
    schema_exists: bool,
    /// The server's process id for the connection, or the one before.
    backend: Option<i32>,
    /// What the connection's timeouts are set for.
    deadline: Duration,
    flaws: Flaws,
}

/// Why there is no connection.
pub(super) enum OpenError {
    NotOurs(String),
    Unreachable(Failure),
}

impl Link {
    pub(super) async fn open(
        schema: Arc<Schema>,
        deadline: Duration,
        flaws: Flaws,
    ) -> Result<Self, OpenError> {
        let (connection, backend) = (None, None);
        let (route, schema_exists) = (Route::default(), false);
        let mut link = Link { connection, schema, route, schema_exists, backend, deadline, flaws };
        link.connect(deadline).await?;
        Ok(link)
    }

    /// Connects, and sees to it that the schema is ours if it is there.
    async fn connect(&mut self, deadline: Duration) -> Result<(), OpenError> {
        let mut options = self.route.applied_to(self.schema.connect_options(deadline));
        if self.flaws.has(Flaw::CommitNotFlushed) {
            options = options.options([("synchronous_commit", "off")]);
        }
        let connection = options.connect().await;
        let unreachable = |error| OpenError::Unreachable(failure("connecting", &error));
        self.connection = Some(connection.map_err(unreachable)?);
        self.deadline = deadline;
        self.look().await
    }

    /// Looks whether the schema is there, and gives the connection up if it is not ours.
    pub(super) async fn look(&mut self) -> Result<(), OpenError> {
        let unreachable =
            |error: &sqlx::Error| OpenError::Unreachable(failure("looking at its mark", error));
        let answer = self.send(raw_sql(self.schema.question())).await;
        let rows = answer.map_err(|error| unreachable(error.driver()))?.rows;
        match self.schema.recognise(&rows).map_err(|error| unreachable(&error))? {
            Found::Ours => {
                self.schema_exists = true;
                self.backend = rows.first().and_then(|row| row.try_get(2).ok());
            }
            Found::Nothing => self.schema_exists = false,
            Found::NotOurs(reason) => {
                self.give_up();
                return Err(OpenError::NotOurs(reason));
            }
        }
        Ok(())
    }

    /// Whether the schema was there, and ours, at the last look.
    pub(super) fn schema_exists(&self) -> bool {
        self.schema_exists
    }

    /// The server's process id for the connection, if there is one.
    pub(super) fn backend(&self) -> Option<i32> {
        self.connection.as_ref().and(self.backend)
    }

    /// Says good-bye to the server.
    pub(super) async fn close(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if let Err(error) = connection.close().await {
            tracing::debug!(%error, "a connection was gone before it was closed");
        }
    }

    /// Gives the connection up, and connects by this route from now on.
    pub(super) fn reroute(&mut self, route: Route) {
        self.route = route;
        self.give_up();
    }

    /// Makes sure that there is a connection, as patient as the deadline allows.
    pub(super) async fn prepare(&mut self, deadline: Duration) -> Result<(), Failure> {
        if self.connection.is_none() {
            return match self.connect(deadline).await {
                Ok(()) if self.schema_exists => Ok(()),
                Ok(()) => {
                    self.give_up();
                    Err(gone())
                }
                Err(OpenError::NotOurs(reason)) => Err(not_ours(&reason)),
                Err(OpenError::Unreachable(failure)) => Err(failure),
            };
        }
        if self.deadline != deadline {
            let set = timeouts(deadline)
                .map(|(name, time)| format!("SET {name} = {}", time.as_millis()))
                .join("; ");
            self.send(raw_sql(AssertSqlSafe(set)))
                .await
                .map_err(|error| failure("preparing the connection", error.driver()))?;
            self.deadline = deadline;
        }
        Ok(())
    }

    /// Sends a statement and waits for the answer, to its end: a statement that commits by
    /// itself may still fail after it has told its result.
    pub(super) async fn send(
        &mut self,
        statement: impl Execute<'static, Postgres> + 'static,
    ) -> Result<Answer, SendError> {
        let mut answer = Answer::default();
        let mut completed = false;
        let Some(mut connection) = self.connection.take() else {
            return Err(SendError::broken(ErrorKind::NotConnected.into()));
        };
        let mut stream = connection.fetch_many(statement);
        let error = loop {
            match poll_fn(|context| stream.as_mut().poll_next(context)).await {
                Some(Ok(Either::Right(row))) => answer.rows.push(row),
                Some(Ok(Either::Left(result))) => {
                    answer.changes = result.rows_affected();
                    completed = true;
                    if self.flaws.has(Flaw::ResultTakenForCommit) {
                        break None;
                    }
                }
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        drop(stream);
        let Some(error) = error else {
            self.connection = Some(connection);
            return Ok(answer);
        };
        let mut error = SendError { error, completed, taken_back: false };
        // Ready for the next statement, the server has ended the failed one's transaction.
        // Before that its error might yet turn out to have come too late for that.
        if error.severity() == Some(PgSeverity::Error) && connection.ping().await.is_ok() {
            error.taken_back = true;
            self.connection = Some(connection);
        } else if self.flaws.has(Flaw::BrokenLinkKept) {
            self.connection = Some(connection);
        }
        Err(error)
    }

    /// With [`Flaw::BeginNotGuarded`]: begins a transaction while the connection stays in its
    /// place, whatever becomes of the future that waits for the answer.
    pub(super) async fn begin_in_place(&mut self) -> Result<(), SendError> {
        let Some(connection) = &mut self.connection else {
            return Err(SendError::broken(ErrorKind::NotConnected.into()));
        };
        let begun = raw_sql("BEGIN").execute(connection).await;
        begun.map(drop).map_err(|error| SendError { error, completed: false, taken_back: false })
    }

    /// Gives the connection up, and with it what it may be in the middle of.
    pub(super) fn give_up(&mut self) {
        self.connection = None;
    }
}

/// How long the server may wait for a lock, and how long be at one statement, so that it
/// can still say in time that it has given up, and why.
pub(super) fn timeouts(deadline: Duration) -> [(&'static str, Duration); 2] {
    // Zero would mean without end, and more than this is not a number for the server.
    let limit = |time: Duration| {
        time.clamp(Duration::from_millis(1), Duration::from_millis(i32::MAX.unsigned_abs().into()))
    };
    let eighth = deadline / 8;
    [("lock_timeout", limit(eighth * 6)), ("statement_timeout", limit(eighth * 7))]
}

/// How the sending of a statement failed, and what that says about its effect.
pub(super) struct SendError {
    error: sqlx::Error,
    /// Whether the server had told the statement's result before.
    completed: bool,
    /// Whether the server has taken back whatever the statement did.
    taken_back: bool,
}

impl SendError {
    fn broken(error: std::io::Error) -> Self {
        SendError { error: sqlx::Error::Io(error), completed: false, taken_back: false }
    }

    /// What the driver says.
    pub(super) fn driver(&self) -> &sqlx::Error {
        &self.error
    }

    fn severity(&self) -> Option<PgSeverity> {
        let error = self.error.as_database_error()?;
        Some(error.try_downcast_ref::<PgDatabaseError>()?.severity())
    }

    /// The server's code of the error, if it is the server's.
    pub(super) fn sqlstate(&self) -> Option<&str> {
        sqlstate(&self.error)
    }

    /// Whether a COMMIT that failed so has certainly had no effect, and never will.
    pub(super) fn commit_had_no_effect(&self) -> bool {
        // Somebody between us and the server does not know either what became of it.
        let from_between = self.sqlstate().is_some_and(|code| code.starts_with("08"));
        (self.taken_back && !from_between) || self.was_not_sent()
    }

    /// The same of a statement that commits by itself. It does so after it has told its
    /// result, so the end of the connection, told before the result, came before the commit.
    pub(super) fn autocommit_had_no_effect(&self) -> bool {
        let ended_before = !self.completed
            && self.severity() == Some(PgSeverity::Fatal)
            && self.sqlstate().is_some_and(|code| code.starts_with("57P"));
        self.commit_had_no_effect() || ended_before
    }

    /// Whether the system refused to take the message's last byte. Only writing can fail so,
    /// and the server commits nothing before it has read the whole message.
    fn was_not_sent(&self) -> bool {
        matches!(&self.error, sqlx::Error::Io(error)
            if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::NotConnected))
    }
}

/// The server's code of an error, if it is the server's.
pub(super) fn sqlstate(error: &sqlx::Error) -> Option<&str> {
    Some(error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()?.code())
}

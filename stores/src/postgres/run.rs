//! One execution of an operation: the funnel that all its statements pass.
//!
//! Here a statement is sent, counted and recorded, the points are reached, and the phase
//! is kept: an operation is in doubt from the moment a commit is sent until the server has
//! said how it ended. A single write outside a transaction is its own commit.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Execute, Postgres, SqlSafeStr, SqlStr, raw_sql};
use stagefault_models::{Failure, Point, Scope};

use super::failure::{aborted, failure};
use super::link::{Answer, Link, SendError};
use super::planted;
use crate::flaws::{Flaw, Flaws};

/// A statement with its arguments.
pub(super) type Query = sqlx::query::Query<'static, Postgres, PgArguments>;

/// A statement as it was sent, so that a benchmark can send the very same ones through
/// sqlx alone and so tell what the store costs beyond them.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Traced {
    /// The text.
    pub sql: SqlStr,
    /// What was bound to it; `None`: it was sent without being prepared, as a BEGIN is.
    pub arguments: Option<PgArguments>,
}

/// The execution of one operation on one connection.
pub(super) struct Run<'a> {
    pub(super) link: &'a mut Link,
    pub(super) scope: &'a Scope<'a>,
    /// Whether the operation may have had an effect, or may yet have it. It is the
    /// caller's, for it must outlive a run that the deadline cuts off.
    pub(super) in_doubt: &'a mut bool,
    pub(super) flaws: Flaws,
    pub(super) trace: Option<&'a mut Vec<Traced>>,
    /// How many statements were sent, commits and rollbacks aside.
    pub(super) statements: u32,
}

impl<'a> Run<'a> {
    /// Reads outside a transaction: one statement, hence one moment.
    pub(super) async fn read(&mut self, query: Query) -> Result<Vec<PgRow>, Failure> {
        match self.statement(query).await {
            Err(failure) if planted::finds_nothing(self.flaws, &failure) => Ok(Vec::new()),
            answer => Ok(answer?.rows),
        }
    }

    /// Writes outside a transaction. The statement is its own commit, and one that changes
    /// no row has had no effect.
    pub(super) async fn write(&mut self, query: Query) -> Result<Answer, Failure> {
        self.scope.reach(Point::BeforeCommit).await;
        let query = self.record(query);
        *self.in_doubt = true;
        let answer = self.link.send(query).await;
        let answer = self.settle(answer, SendError::autocommit_had_no_effect)?;
        *self.in_doubt = answer.changes > 0;
        Ok(answer)
    }

    /// With [`Flaw::StatementByStatement`]: after a write that is not the operation's last.
    pub(super) async fn committed_in_between(&mut self) {
        self.statements += 1;
        self.scope.reach(Point::Statement(self.statements)).await;
    }

    /// Begins a transaction.
    pub(super) async fn begin(&mut self) -> Result<Transaction<'_, 'a>, Failure> {
        self.scope.reach(Point::Begin).await;
        if self.flaws.has(Flaw::BeginNotGuarded) {
            let begun = self.link.begin_in_place().await;
            begun.map_err(|error| failure("beginning a transaction", error.driver()))?;
            return Ok(Transaction { run: self, failed: false, ended: false });
        }
        let transaction = Transaction { run: self, failed: false, ended: false };
        let begun = transaction.run.control("BEGIN").await;
        begun.map_err(|error| failure("beginning a transaction", error.driver()))?;
        Ok(transaction)
    }

    async fn statement(&mut self, query: Query) -> Result<Answer, Failure> {
        self.statements += 1;
        let number = self.statements;
        let query = self.record(query);
        match self.link.send(query).await {
            Ok(answer) => {
                self.scope.reach(Point::Statement(number)).await;
                Ok(answer)
            }
            Err(error) => Err(failure(&format!("at statement {number}"), error.driver())),
        }
    }

    /// Sends a statement that begins or ends a transaction. It is not prepared, and so one
    /// message, which the server heeds as a whole or not at all.
    async fn control(&mut self, sql: &'static str) -> Result<Answer, SendError> {
        if let Some(trace) = &mut self.trace {
            trace.push(Traced { sql: sql.into_sql_str(), arguments: None });
        }
        self.link.send(raw_sql(sql)).await
    }

    /// Keeps the doubt unless the answer to a commit settles it.
    fn settle(
        &mut self,
        answer: Result<Answer, SendError>,
        had_no_effect: fn(&SendError) -> bool,
    ) -> Result<Answer, Failure> {
        answer.or_else(|error| {
            let failure = failure("at the commit", error.driver());
            if planted::is_done(self.flaws, &failure) {
                return Ok(Answer { changes: 1, ..Answer::default() });
            }
            let no_effect = had_no_effect(&error) || planted::no_effect(self.flaws, &failure);
            *self.in_doubt = !no_effect;
            Err(failure)
        })
    }

    /// Keeps a copy of the statement if somebody wants one.
    fn record(&mut self, mut query: Query) -> Query {
        let Some(trace) = &mut self.trace else { return query };
        // Arguments that could not be encoded fail when they are sent, and need no copy.
        let Ok(Some(arguments)) = query.take_arguments() else { return query };
        let sql = query.sql();
        trace.push(Traced { sql: sql.clone(), arguments: Some(arguments.clone()) });
        sqlx::query_with(sql, arguments)
    }
}

/// A transaction. Dropped before its end, be it by an error or with its caller, it takes
/// the connection with it, and so the server ends it.
pub(super) struct Transaction<'r, 'a> {
    run: &'r mut Run<'a>,
    /// Whether a statement of it failed: the server would answer a COMMIT as if it had
    /// committed, and roll back.
    failed: bool,
    ended: bool,
}

impl Transaction<'_, '_> {
    /// Executes one statement within the transaction.
    pub(super) async fn execute(&mut self, query: Query) -> Result<Answer, Failure> {
        let answer = self.run.statement(query).await;
        self.failed |= answer.is_err();
        if self.run.flaws.has(Flaw::ErrorSwallowed) {
            return Ok(answer.unwrap_or_default());
        }
        answer
    }

    pub(super) async fn commit(mut self) -> Result<(), Failure> {
        if self.failed && !self.run.flaws.has(Flaw::ErrorSwallowed) {
            return Err(aborted());
        }
        self.run.scope.reach(Point::BeforeCommit).await;
        *self.run.in_doubt = true;
        let answer = self.run.control("COMMIT").await;
        self.run.settle(answer, SendError::commit_had_no_effect)?;
        self.ended = true;
        Ok(())
    }

    /// Ends a transaction that has written nothing, or must not have.
    pub(super) async fn rollback(mut self) {
        if self.run.flaws.has(Flaw::IdleLeftInTransaction) {
            self.ended = true;
            return;
        }
        // After an error the answer stands all the same, and the connection is given up.
        self.ended = self.run.control("ROLLBACK").await.is_ok();
    }
}

impl Drop for Transaction<'_, '_> {
    fn drop(&mut self) {
        let kept =
            if self.failed { Flaw::FailedTransactionKept } else { Flaw::DroppedTransactionKept };
        if !self.ended && !self.run.flaws.has(kept) {
            self.run.link.give_up();
        }
    }
}

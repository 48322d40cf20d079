//! One execution of an operation: the funnel that all its statements pass.
//!
//! Here a statement is sent, counted and recorded, the points are reached, and the phase
//! is kept: an operation is in doubt from the moment a commit is sent until SQLite has
//! said how it ended. A single write outside a transaction is its own commit.

use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Execute, SqlStr};
use stagefault_models::{Failure, Point, Scope};

use super::failure::{failure, had_no_effect};
use super::link::{Answer, Link, Query};
use crate::flaws::{Flaw, Flaws};

/// A statement as it was sent, so that a benchmark can send the very same ones through
/// sqlx alone and so tell what the store costs beyond them.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Traced {
    /// The text; a transaction's BEGIN shares that of its first statement.
    pub sql: SqlStr,
    /// What was bound to it.
    pub arguments: SqliteArguments,
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
    pub(super) async fn read(&mut self, query: Query<'_>) -> Result<Vec<SqliteRow>, Failure> {
        Ok(self.statement(query, 1).await?.rows)
    }

    /// Writes outside a transaction. The statement is its own commit, and one that changes
    /// no row has had no effect.
    pub(super) async fn write(&mut self, query: Query<'_>) -> Result<Answer, Failure> {
        self.scope.reach(Point::BeforeCommit).await;
        let answer = self.commit(query).await?;
        *self.in_doubt = answer.changes > 0;
        Ok(answer)
    }

    /// Begins a transaction. The query is a BEGIN and the transaction's first statement in
    /// one text, for that saves a round trip to the worker.
    pub(super) async fn begin(
        &mut self,
        query: Query<'_>,
    ) -> Result<(Transaction<'_, 'a>, Vec<SqliteRow>), Failure> {
        self.scope.reach(Point::Begin).await;
        if self.flaws.has(Flaw::BeginNotGuarded) {
            let rows = self.statement(query, 2).await?.rows;
            return Ok((Transaction { run: self, ended: false }, rows));
        }
        self.link.begun();
        let transaction = Transaction { run: self, ended: false };
        let answer = transaction.run.statement(query, 2).await?;
        Ok((transaction, answer.rows))
    }

    async fn statement(&mut self, query: Query<'_>, parts: usize) -> Result<Answer, Failure> {
        self.statements += 1;
        let number = self.statements;
        let query = self.record(query);
        match self.link.send(query, parts).await {
            Ok(answer) => {
                self.scope.reach(Point::Statement(number)).await;
                Ok(answer)
            }
            Err(error) => Err(failure(&format!("at statement {number}"), &error)),
        }
    }

    /// Sends what commits, and keeps the doubt unless SQLite settles it.
    async fn commit(&mut self, query: Query<'_>) -> Result<Answer, Failure> {
        let query = self.record(query);
        *self.in_doubt = true;
        self.link.send(query, 1).await.map_err(|error| {
            *self.in_doubt = !had_no_effect(&error);
            failure("at the commit", &error)
        })
    }

    /// Keeps a copy of the statement if somebody wants one.
    fn record<'q>(&mut self, mut query: Query<'q>) -> Query<'q> {
        let Some(trace) = &mut self.trace else { return query };
        // Arguments that could not be encoded fail when they are sent, and need no copy.
        let Ok(Some(arguments)) = query.take_arguments() else { return query };
        let sql = query.sql();
        trace.push(Traced { sql: sql.clone(), arguments: arguments.clone() });
        sqlx::query_with(sql, arguments)
    }
}

/// A transaction. Dropped before its end, be it by an error or with its caller, it is
/// rolled back without anybody waiting for that.
pub(super) struct Transaction<'r, 'a> {
    run: &'r mut Run<'a>,
    ended: bool,
}

impl Transaction<'_, '_> {
    /// The bugs that are planted in the store.
    pub(super) fn flaws(&self) -> Flaws {
        self.run.flaws
    }

    /// Executes one statement within the transaction.
    pub(super) async fn execute(&mut self, query: Query<'_>) -> Result<Answer, Failure> {
        self.run.statement(query, 1).await
    }

    /// Commits. A commit that failed, for example with BUSY, has left the transaction open:
    /// it is rolled back like any other that did not end.
    pub(super) async fn commit(mut self) -> Result<(), Failure> {
        self.run.scope.reach(Point::BeforeCommit).await;
        let committed = self.run.commit(sqlx::query("COMMIT")).await;
        self.ended = committed.is_ok() || self.run.flaws.has(Flaw::BusyAtCommitLeftOpen);
        committed.map(drop)
    }

    /// Ends a transaction that has written nothing, or must not have.
    pub(super) async fn rollback(mut self) {
        let query = self.run.record(sqlx::query("ROLLBACK"));
        // On an error the answer stands all the same, and the link is proved at its next use.
        self.ended = self.run.link.send(query, 1).await.is_ok();
    }
}

impl Drop for Transaction<'_, '_> {
    fn drop(&mut self) {
        if self.ended || self.run.flaws.has(Flaw::DroppedTransactionKept) {
            self.run.link.ended();
        } else {
            self.run.link.abandon();
        }
    }
}

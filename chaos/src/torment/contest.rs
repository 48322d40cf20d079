//! An operation and another transaction get in each other's way, until the server gives up
//! on the operation.
//!
//! The operation is held while the other transaction, the rival, takes locks that the
//! operation will need. Then it goes on, and what happens next does not depend on time: it is
//! waited for until the server says that the operation waits for the rival. A lock that the
//! operation never comes to need is given back when it has returned, and nothing has fired.

use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor, Row, query, raw_sql};
use stagefault_models::{FaultKind, Id, Operation, OperationKind};
use tokio::time::sleep;

use super::admin::{LIMIT, LOOK_AGAIN};
use super::backend::Scene;
use super::room;

/// How long the server lets the operation wait for a lock, be at a statement, or idle in a
/// transaction.
const PATIENCE: Duration = Duration::from_millis(150);
/// After how long the operation's wait is looked at for a deadlock, which the rival must
/// have closed by then; of the two, only the operation looks so early.
const DEADLOCK_PATIENCE: Duration = Duration::from_millis(400);

/// What the rival does first. It does not wait long for others, and of a deadlock it is not
/// the one that gives way.
fn begin(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Deadlock => "SET lock_timeout = '2s'; SET deadlock_timeout = '60s'; BEGIN",
        _ => "SET lock_timeout = '300ms'; BEGIN",
    }
}

/// The settings of the operation's session under which it meets a fault of this kind; none:
/// it takes none.
pub(super) fn settings(kind: FaultKind) -> Vec<(&'static str, String)> {
    let time = |time: Duration| time.as_millis().to_string();
    match kind {
        FaultKind::LockTimeout => vec![("lock_timeout", time(PATIENCE))],
        FaultKind::StatementTimeout => vec![("statement_timeout", time(PATIENCE))],
        FaultKind::IdleTimeout => vec![("idle_in_transaction_session_timeout", time(PATIENCE))],
        FaultKind::Serialization => {
            vec![("default_transaction_isolation", "repeatable read".to_owned())]
        }
        FaultKind::Deadlock => vec![("deadlock_timeout", time(DEADLOCK_PATIENCE))],
        FaultKind::DiskFull => vec![(room::SETTING, room::NONE_LEFT.to_owned())],
        _ => Vec::new(),
    }
}

/// The transaction that is in the operation's way.
pub(super) struct Rival<'s> {
    scene: &'s Scene,
    connection: PgConnection,
    pid: i32,
    kind: FaultKind,
    session: Option<Id>,
}

impl<'s> Rival<'s> {
    /// Begins, and takes what the operation will need.
    pub(super) async fn of(
        operation: &Operation,
        kind: FaultKind,
        scene: &'s Scene,
    ) -> Result<Self, sqlx::Error> {
        let mut connection = scene.admin.connect().await?;
        let path = format!("SET search_path = {}", scene.schema);
        connection.execute(raw_sql(AssertSqlSafe(path))).await?;
        connection.execute(raw_sql(begin(kind))).await?;
        let pid = query("SELECT pg_backend_pid()").fetch_one(&mut connection).await?.try_get(0)?;
        let session = operation.session().cloned();
        let mut rival = Rival { scene, connection, pid, kind, session };
        rival.take(rows(operation.kind(), kind)).await?;
        Ok(rival)
    }

    /// Waits until this backend waits for the rival, which may never be.
    pub(super) async fn until_in_the_way_of(&self, backend: i32) {
        let waits = format!(
            "SELECT FROM pg_stat_activity WHERE pid = {backend}
             AND wait_event_type = 'Lock' AND {} = ANY (pg_blocking_pids(pid))",
            self.pid
        );
        let started = Instant::now();
        while started.elapsed() < LIMIT {
            if self.scene.admin.ask(waits.clone()).await.is_ok_and(|rows| !rows.is_empty()) {
                return;
            }
            sleep(LOOK_AGAIN).await;
        }
        std::future::pending().await
    }

    /// Does what brings the operation down that waits. Whether that is certain.
    pub(super) async fn press(&mut self) -> bool {
        match self.kind {
            // What it waits for was changed: it cannot go on from what it has seen.
            FaultKind::Serialization => self.end("COMMIT").await,
            // It holds its session's row: now each waits for the other.
            FaultKind::Deadlock => self.take(SESSIONS).await.is_ok(),
            // It waits until its patience is over.
            _ => true,
        }
    }

    async fn take(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        let session = self.session.as_ref().map(Id::as_str);
        query(sql).bind(session).execute(&mut self.connection).await.map(drop)
    }

    async fn end(&mut self, how: &'static str) -> bool {
        self.connection.execute(raw_sql(how)).await.is_ok()
    }

    /// Gives everything back.
    pub(super) async fn retire(mut self) {
        // If the server is gone, so is what was held there.
        self.end("ROLLBACK").await;
        let _ = self.connection.close().await;
    }
}

const SESSIONS: &str = "
    SELECT FROM sessions WHERE session = $1 OR $1 IS NULL ORDER BY session FOR UPDATE";
const CALLS: &str = "
    SELECT FROM calls WHERE session = $1 OR $1 IS NULL ORDER BY session, call FOR UPDATE";
const STAGED: &str = "
    SELECT FROM staged WHERE session = $1 OR $1 IS NULL ORDER BY session, step, call FOR UPDATE";
/// Changes nothing that anybody could see.
const SESSIONS_AGAIN: &str = "
    UPDATE sessions SET interrupt = interrupt WHERE session = $1 OR $1 IS NULL";
const CALLS_AGAIN: &str = "UPDATE calls SET run = run WHERE session = $1 OR $1 IS NULL";

/// What the rival takes: of what the operation will write, the first it comes to; for a
/// deadlock what it comes to when it has its session's row.
fn rows(operation: OperationKind, kind: FaultKind) -> &'static str {
    let of_calls = matches!(operation, OperationKind::SubmitResult | OperationKind::ExpireCalls);
    match kind {
        FaultKind::Deadlock if of_calls => CALLS,
        FaultKind::Deadlock => STAGED,
        FaultKind::Serialization if operation == OperationKind::SubmitResult => CALLS_AGAIN,
        FaultKind::Serialization => SESSIONS_AGAIN,
        _ if operation == OperationKind::SubmitResult => CALLS,
        _ => SESSIONS,
    }
}

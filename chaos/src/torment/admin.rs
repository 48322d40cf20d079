//! The server as its administrator sees it: ending a backend, and seeing what backends do.
//!
//! It has a connection of its own, straight to the server and under another name than the
//! writers', made when it is needed and again when it broke.

use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, query};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

/// How long a condition on the server may take to come true.
pub(super) const LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked at.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The administrator of one namespace.
pub(super) struct Admin {
    options: PgConnectOptions,
    /// The name that the namespace's connections bear.
    application: String,
    connection: Mutex<Option<PgConnection>>,
}

/// A backend of the namespace, as `pg_stat_activity` and `pg_locks` show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Activity {
    pub(super) pid: i32,
    /// `idle`, `active`, `idle in transaction` and so on.
    pub(super) state: String,
    /// The statement that it is at, or was at last.
    pub(super) query: String,
    /// How many locks it holds.
    pub(super) locks: i64,
}

impl Admin {
    /// The administrator of the connections of this name, who connects like them.
    pub(super) fn new(options: &PgConnectOptions, application: &str) -> Self {
        let options = options.clone().application_name("stagefault-admin");
        let (application, connection) = (application.to_owned(), Mutex::default());
        Admin { options, application, connection }
    }

    /// A further connection of its own.
    pub(super) async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        timeout(LIMIT, self.options.connect()).await.unwrap_or_else(|_| Err(late()))
    }

    /// Has the server end this backend, if it is of the namespace, and waits until it is
    /// gone from the server's own list. Whether it was there.
    pub(super) async fn terminate(&self, pid: i32) -> Result<bool, sqlx::Error> {
        let ended = self.ask(format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE pid = {pid} AND application_name = '{}'",
            self.application
        ));
        let was_there = !ended.await?.is_empty();
        self.until_gone(pid).await?;
        Ok(was_there)
    }

    /// Waits until the server has no backend of this process id.
    pub(super) async fn until_gone(&self, pid: i32) -> Result<(), sqlx::Error> {
        let there = format!("SELECT FROM pg_stat_activity WHERE pid = {pid}");
        let started = Instant::now();
        while !self.ask(there.clone()).await?.is_empty() {
            if started.elapsed() > LIMIT {
                return Err(late());
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// All backends of the namespace.
    pub(super) async fn activity(&self) -> Result<Vec<Activity>, sqlx::Error> {
        let rows = self.ask(format!(
            "SELECT pid, coalesce(state, ''), coalesce(query, ''),
                    (SELECT count(*) FROM pg_locks
                     WHERE pg_locks.pid = pg_stat_activity.pid AND granted)
             FROM pg_stat_activity WHERE application_name = '{}' ORDER BY pid",
            self.application
        ));
        let activity = |row: &PgRow| {
            let (pid, locks) = (row.try_get(0)?, row.try_get(3)?);
            Ok(Activity { pid, state: row.try_get(1)?, query: row.try_get(2)?, locks })
        };
        rows.await?.iter().map(activity).collect()
    }

    /// Asks on the connection that was used last, or on a new one if it broke meanwhile: with
    /// the server, for one. A question may be asked twice.
    pub(super) async fn ask(&self, sql: String) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut place = self.connection.lock().await;
        if let Some(mut connection) = place.take()
            && let Ok(rows) = ask_on(&mut connection, &sql).await
        {
            *place = Some(connection);
            return Ok(rows);
        }
        let mut connection = self.connect().await?;
        let rows = ask_on(&mut connection, &sql).await?;
        *place = Some(connection);
        Ok(rows)
    }

    /// Says good-bye to the server.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take() {
            // It may be gone with the server; then there is nothing to say.
            let _ = connection.close().await;
        }
    }
}

/// What it selects. Only names that need no quotes are ever put into it.
pub(super) async fn ask_on(
    connection: &mut PgConnection,
    sql: &str,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let rows = query(AssertSqlSafe(sql.to_owned())).persistent(false).fetch_all(connection);
    timeout(LIMIT, rows).await.unwrap_or_else(|_| Err(late()))
}

fn late() -> sqlx::Error {
    sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())
}

//! The sqlite store: one SQLite database, through sqlx, with SQLite built in.
//!
//! A database is a file, or lives in this process's memory. Every handle has a connection
//! of its own, and SQLite's locks order the writers; a write is one guarded statement
//! (`session.rs`, `calls.rs`) or one `BEGIN IMMEDIATE` transaction (`promote.rs`,
//! `sweep.rs`). All statements pass one funnel (`run.rs`), which knows in which phase an
//! operation is, and so what a failure means; `link.rs` keeps a connection usable whatever
//! became of the operation before.
//!
//! **Durability.** A file is in WAL mode with `synchronous = NORMAL`. What was
//! acknowledged survives the death of the process at any moment. The death of the machine
//! may take the last commits with it, whole ones, from the end: they are in the system's
//! cache until a checkpoint.
//!
//! **Points.** Every operation reaches `Acquire`, and `Reply` unless it failed: a failure ends
//! it where it is. In between, `tests/sqlite/points.rs` has them by operation as a table:
//! - A statement that reads reaches `Statement(k)` after it.
//! - A single statement that writes reaches `BeforeCommit` before it, also when it then finds
//!   nothing to change. It is its own transaction, so there is no `Begin`; and after it the
//!   operation is committed and its writer not told, which is what `Reply` is.
//! - A transaction (promote, append, cleanup) reaches `Begin`, `Statement(k)` after each of its
//!   statements, the first of which goes with the BEGIN, and `BeforeCommit`, which it skips
//!   when it is refused or has nothing to write.
//!
//! **In memory.** All connections share a database of SQLite's `memdb` file system. It
//! takes locks like a file without a log: a reader and a writer wait for each other, by the
//! busy timeout, and a COMMIT can be BUSY. (SQLite's shared cache would answer LOCKED at
//! once, which no timeout governs.)

mod audit;
mod calls;
mod failure;
mod file;
mod link;
mod load;
mod messages;
mod namespaces;
mod promote;
mod races;
mod row;
mod run;
mod schema;
mod session;
mod store;
mod sweep;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use stagefault_models::audit::Audit;
use stagefault_models::{Backend, BackendError, Capabilities, Failure, Id};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::flaws::Flaws;
use link::Link;
pub use namespaces::SqliteNamespaces;
#[doc(hidden)]
pub use run::Traced;
use store::Slot;
pub use store::SqliteStore;

/// One SQLite database.
pub struct SqliteBackend {
    place: Place,
    options: Arc<SqliteConnectOptions>,
    flaws: Flaws,
    /// For audits. It also keeps a database in memory alive while no handle is open.
    own: Mutex<Option<Link>>,
    /// The connections of the handles, also of those dropped since the last look.
    handles: Mutex<Vec<Slot>>,
}

/// Where a database is.
enum Place {
    File(PathBuf),
    Memory(String),
}

/// How long a backend that closes waits for each handle to end its operation: longer than
/// the usual deadline of one.
const CLOSING: Duration = Duration::from_secs(15);

/// The version of the SQLite that is built in.
///
/// # Errors
/// That it does not start.
pub async fn version() -> Result<String, BackendError> {
    let version = async {
        let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await?;
        sqlx::query_scalar("SELECT sqlite_version()").fetch_one(&mut connection).await
    };
    version.await.map_err(|error: sqlx::Error| BackendError::Unreachable {
        location: "the SQLite that is built in".to_owned(),
        reason: error.to_string(),
    })
}

impl SqliteBackend {
    /// Opens the database at `path`, or makes one if there is nothing.
    ///
    /// # Errors
    /// [`BackendError::NotOurs`] when something is there that does not bear our mark and a
    /// schema version that we know; it is left as it is, to the byte.
    pub async fn open(path: &Path) -> Result<Self, BackendError> {
        let path = file::settle(path).await?;
        let options = SqliteConnectOptions::new().filename(&path);
        SqliteBackend::start(Place::File(path), options).await
    }

    /// A new database in this process's memory; it goes with the backend and its handles.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] when there is no memory or no thread left.
    pub async fn in_memory() -> Result<Self, BackendError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // The slash is what makes memdb share the database between connections.
        let name = format!("/stagefault-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let options =
            SqliteConnectOptions::new().filename(&name).vfs("memdb").create_if_missing(true);
        SqliteBackend::start(Place::Memory(name), options).await
    }

    async fn start(place: Place, options: SqliteConnectOptions) -> Result<Self, BackendError> {
        let options = options
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            // A page of messages fits, so that the worker need not wait for its reader.
            .row_buffer_size(1024)
            // What a caller has to know it is told; and the texts would end in logs.
            .disable_statement_logging();
        let backend = SqliteBackend {
            place,
            options: Arc::new(options),
            flaws: Flaws::none(),
            own: Mutex::new(None),
            handles: Mutex::new(Vec::new()),
        };
        backend.start_own().await?;
        Ok(backend)
    }

    /// The same backend with bugs planted in the handles that it gives from now on.
    pub fn with_flaws(self, flaws: Flaws) -> Self {
        SqliteBackend { flaws, ..self }
    }

    /// How the handles connect, for whoever works beside them: a benchmark without a store, or
    /// a reader that is in their way.
    #[doc(hidden)]
    pub fn connect_options(&self) -> &SqliteConnectOptions {
        &self.options
    }

    /// Opens the backend's own connection, and brings the database up to date.
    async fn start_own(&self) -> Result<(), BackendError> {
        let mut link = self.connect().await?;
        let objection = link.bring_up_to_date().await.map_err(|error| self.error(&error))?;
        if let Some(reason) = objection {
            return Err(BackendError::NotOurs { location: self.location(), reason });
        }
        *self.own.lock().await = Some(link);
        Ok(())
    }

    async fn connect(&self) -> Result<Link, BackendError> {
        Link::open(self.options.clone()).await.map_err(|error| self.error(&error))
    }

    /// Closes the handles' connections, when each has ended what it is at.
    async fn close_handles(&self) -> Result<(), BackendError> {
        for slot in self.handles.lock().await.drain(..) {
            let link = timeout(CLOSING, slot.lock()).await.map(|mut slot| slot.take());
            match link {
                Ok(Some(mut link)) => link.close().await,
                Ok(None) => {}
                Err(_) => {
                    let reason = "a handle is still executing an operation".to_owned();
                    return Err(BackendError::Unreachable { location: self.location(), reason });
                }
            }
        }
        Ok(())
    }

    /// Closes the connections whose handles were dropped.
    async fn close_dropped(&self) {
        let mut handles = self.handles.lock().await;
        let (used, dropped) =
            handles.drain(..).partition(|slot: &Slot| Arc::strong_count(slot) > 1);
        *handles = used;
        for slot in dropped {
            if let Some(mut link) = slot.lock().await.take() {
                link.close().await;
            }
        }
    }

    fn location(&self) -> String {
        match &self.place {
            Place::File(path) => path.display().to_string(),
            Place::Memory(name) => format!("memory:{name}"),
        }
    }

    fn error(&self, error: &sqlx::Error) -> BackendError {
        self.failed(failure::failure("opening it", error))
    }

    fn failed(&self, failure: Failure) -> BackendError {
        failure::backend_error(self.location(), failure)
    }
}

impl Backend for SqliteBackend {
    type Store = SqliteStore;

    fn capabilities(&self) -> Capabilities {
        Capabilities { durable: matches!(self.place, Place::File(_)) }
    }

    async fn store(&self) -> Result<SqliteStore, BackendError> {
        self.close_dropped().await;
        let slot = Arc::new(Mutex::new(Some(self.connect().await?)));
        self.handles.lock().await.push(slot.clone());
        Ok(SqliteStore::new(slot, self.flaws))
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        let mut own = self.own.lock().await;
        let link = own.as_mut().ok_or_else(|| self.failed(failure::closed()))?;
        audit::audit(link, sessions).await.map_err(|failure| self.failed(failure))
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.close_handles().await?;
        if let Place::File(_) = self.place {
            if let Some(mut link) = self.own.lock().await.take() {
                link.close().await;
            }
            self.start_own().await?;
        }
        Ok(())
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.close_handles().await?;
        if let Some(mut link) = self.own.lock().await.take() {
            link.close().await;
        }
        match &self.place {
            Place::File(path) => file::remove(path).await,
            Place::Memory(_) => Ok(()),
        }
    }
}

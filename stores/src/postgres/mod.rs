//! The postgres store: one schema of a PostgreSQL database, through sqlx.
//!
//! Every handle has a connection of its own: a pool would lend one writer's connection to
//! the next, and with it whatever an abandoned operation left there. All statements pass
//! one funnel (`run.rs`), which knows in which phase an operation is, and so what a failure
//! means; `link.rs` keeps or replaces the connection.
//!
//! **Concurrency.** At READ COMMITTED every statement sees the database anew, and a writer
//! that waited for a row's lock judges that row anew, but no other. So there are three ways
//! to write, and each is one moment for its session:
//! - One statement that decides by the one row that it locks (`session.rs`, `calls.rs`).
//! - What depends on several rows reads them, computes, and writes under a guard on the
//!   session's `revision`, in one statement that is its own transaction (`guarded.rs`). Every
//!   write that changes what such an operation reads (version, status, state, last step,
//!   staging, messages) gives the session another revision; only a stage counts up its
//!   `stagings` instead, and names its step, so that it sends nobody round again who has not
//!   read what it changed. The expiry, the interrupt, the calls and the runs are not among
//!   that, and move neither.
//! - A sweep locks its sessions `FOR UPDATE` in the order of their ids, in a statement of its
//!   own, and then writes, all in one transaction (`sweep.rs`).
//!
//! The rows of a session refer to it by foreign keys. Deleting it cascades with a view of
//! its own, taken when the session's row is locked, so that no row is missed that somebody
//! wrote while the deletion waited. The price is a `KEY SHARE` lock on the session for each
//! row inserted, which gets in the way of deletions and sweeps only, and does so on purpose:
//! it is what keeps a call from being registered in the middle of a sweep.
//!
//! **Durability** is the server's: what was acknowledged survives whatever the server's
//! settings (`fsync`, `synchronous_commit`) let it survive.
//!
//! **Points.** Every operation reaches `Acquire`, and `Reply` unless it failed: a failure ends
//! it where it is. In between, `tests/postgres/points.rs` has them by operation as a table:
//! - A statement that reads reaches `Statement(k)` after it.
//! - A single statement that writes reaches `BeforeCommit` before it, also when it then finds
//!   nothing to change. It is its own transaction, so there is no `Begin`; and after it the
//!   operation is committed and its writer not told, which is what `Reply` is.
//! - A transaction, that is a sweep that found something or a guarded write after two in
//!   vain, reaches `Begin`, `Statement(k)` after each of its statements, and `BeforeCommit`.
//! - A guarded write or a sweep that is refused, or finds nothing to do, has only read, and
//!   skips `BeforeCommit`.
//!
//! Connecting again is between `Acquire` and the next point. What only the wire can tell,
//! whether a commit or its reply was delivered, no point here says.
//!
//! **The server.** Written for PostgreSQL 12 and later, tested on 15.
//!
//! **Values** are `text`: jsonb would change numbers and refuse some, and json, which keeps
//! the text, would be parsed by the server for nothing.

mod audit;
mod calls;
mod database;
mod failure;
mod guarded;
mod interactive;
mod link;
mod load;
mod messages;
mod namespaces;
mod opening;
mod options;
mod planted;
mod promote;
mod races;
mod route;
mod row;
mod run;
mod schema;
mod session;
mod staging;
mod store;
mod sweep;

use std::sync::{Arc, Weak};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use stagefault_models::audit::Audit;
use stagefault_models::{Backend, BackendError, Capabilities, Failure, Id, Scope};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::flaws::Flaws;
pub use database::PostgresDatabase;
use link::Link;
pub use namespaces::PostgresNamespaces;
pub use options::PostgresOptions;
pub use route::Route;
#[doc(hidden)]
pub use run::Traced;
use schema::Schema;
pub use store::PostgresStore;
use store::{Shared, Slot};

/// One schema of a PostgreSQL database, which it made and marked.
pub struct PostgresBackend {
    schema: Arc<Schema>,
    flaws: Flaws,
    /// For audits, and to make and remove the schema.
    own: Mutex<Option<Link>>,
    /// The connections of the handles, which own them: a dropped handle's is closed.
    handles: Mutex<Vec<Weak<Shared>>>,
}

/// How long a backend that closes waits for each handle to end its operation: longer than
/// the usual deadline of one.
const CLOSING: Duration = Duration::from_secs(15);

impl PostgresBackend {
    /// Opens the schema of this name, or makes it if there is none.
    ///
    /// # Errors
    /// [`BackendError::NotOurs`] when there is such a schema without our mark, or with that
    /// of another version; nothing is changed. [`BackendError::Unreachable`] when the host is
    /// not allowed, nobody answers there, or we are not let in.
    pub async fn open(options: &PostgresOptions, schema: &str) -> Result<Self, BackendError> {
        let schema = Schema::named(options, schema)?;
        let link = opening::open_or_make(&schema).await?;
        Ok(PostgresBackend::with(schema, link))
    }

    /// Makes a schema that must not be there yet, and opens it.
    async fn make(options: &PostgresOptions, schema: &str) -> Result<Self, BackendError> {
        let schema = Schema::named(options, schema)?;
        let link = opening::make(&schema).await?;
        Ok(PostgresBackend::with(schema, link))
    }

    fn with(schema: Arc<Schema>, own: Link) -> Self {
        let (own, handles) = (Mutex::new(Some(own)), Mutex::default());
        PostgresBackend { schema, flaws: Flaws::none(), own, handles }
    }

    /// The same backend with bugs planted in the handles that it gives from now on.
    pub fn with_flaws(self, flaws: Flaws) -> Self {
        PostgresBackend { flaws, ..self }
    }

    /// The schema's name. It is also the `application_name` of all connections of the
    /// backend and its handles, so that they can be told from others in `pg_stat_activity`.
    pub fn schema(&self) -> &str {
        self.schema.name()
    }

    /// How the handles connect, for a benchmark that does the same without a store.
    #[doc(hidden)]
    pub fn connect_options(&self) -> PgConnectOptions {
        self.schema.connect_options(Scope::default().deadline)
    }

    /// The server's process ids for the connections that the backend and its handles have:
    /// any other one that bears the schema's name is nobody's.
    pub async fn connected(&self) -> Vec<i32> {
        let own = self.own.lock().await.as_ref().and_then(Link::backend);
        let mut connected: Vec<i32> = own.into_iter().collect();
        for handle in self.handles.lock().await.iter().filter_map(Weak::upgrade) {
            connected.extend(handle.lock().await.as_ref().and_then(Link::backend));
        }
        connected
    }

    /// Closes the handles' connections, when each has ended what it is at.
    async fn close_handles(&self) -> Result<(), BackendError> {
        for handle in self.handles.lock().await.drain(..) {
            let Some(slot) = handle.upgrade() else { continue };
            match timeout(CLOSING, slot.lock()).await {
                Ok(mut slot) => {
                    if let Some(mut link) = slot.take() {
                        link.close().await;
                    }
                }
                Err(_) => {
                    let location = self.schema.location();
                    let reason = "a handle is still executing an operation".to_owned();
                    return Err(BackendError::Unreachable { location, reason });
                }
            }
        }
        Ok(())
    }

    fn failed(&self, failure: Failure) -> BackendError {
        failure::backend_error(self.schema.location(), failure)
    }
}

impl Backend for PostgresBackend {
    type Store = PostgresStore;

    fn capabilities(&self) -> Capabilities {
        Capabilities { durable: true }
    }

    async fn store(&self) -> Result<PostgresStore, BackendError> {
        let link = opening::connect(&self.schema, self.flaws).await?;
        let slot = Slot::new(Mutex::new(Some(link)));
        let mut handles = self.handles.lock().await;
        handles.retain(|handle| handle.strong_count() > 0);
        handles.push(Arc::downgrade(&slot));
        Ok(PostgresStore::new(slot, self.flaws))
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        opening::within_limit(&self.schema, async {
            let mut own = self.own.lock().await;
            let link = own.as_mut().ok_or_else(|| self.failed(failure::closed()))?;
            audit::audit(link, sessions).await.map_err(|failure| self.failed(failure))
        })
        .await
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.close_handles().await?;
        if let Some(mut link) = self.own.get_mut().take() {
            link.close().await;
        }
        let link = opening::connect(&self.schema, Flaws::none()).await?;
        *self.own.get_mut() = Some(link);
        Ok(())
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.close_handles().await?;
        opening::remove(&self.schema, self.own.into_inner()).await
    }
}

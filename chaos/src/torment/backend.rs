//! The backend whose handles meet faults: around a postgres store's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sqlx::postgres::PgConnectOptions;
use stagefault_models::audit::{Audit, Finding};
use stagefault_models::{Backend, BackendError, Capabilities, FaultKind, Id};
use stagefault_stores::postgres::PostgresBackend;
use tokio::net::lookup_host;
use tokio::sync::OnceCell;

use super::admin::Admin;
use super::aftermath;
use super::available::Available;
use super::room;
use super::server::MortalServer;
use super::store::TormentedStore;
use crate::proxy::{Line, Upstream};

/// A postgres store's backend whose handles meet the faults that they are told to.
///
/// Audits and all else but the handles' operations go straight to the server, and wait until
/// it is up.
pub struct Tormented {
    backend: PostgresBackend,
    scene: Arc<Scene>,
    seats: Mutex<Vec<Weak<Seat>>>,
}

/// What the handles of a backend share.
pub(super) struct Scene {
    pub(super) admin: Admin,
    pub(super) server: Option<Arc<MortalServer>>,
    /// Where a line leads to; `None` where there can be no line.
    pub(super) upstream: Option<Upstream>,
    pub(super) available: Available,
    pub(super) schema: String,
    location: String,
}

/// A handle's place at its backend.
#[derive(Default)]
pub(super) struct Seat {
    /// The way that the handle connects by, from its first fault on that needs one.
    pub(super) line: OnceCell<Line>,
}

impl Tormented {
    pub(super) async fn around(
        backend: PostgresBackend,
        server: Option<Arc<MortalServer>>,
        available: Available,
    ) -> Result<Self, BackendError> {
        let options = backend.connect_options();
        let schema = backend.schema().to_owned();
        let location = format!("schema {schema} of {}:{}", options.get_host(), options.get_port());
        let upstream = upstream(&options, &location).await?;
        let admin = Admin::new(&options, &schema);
        let scene = Scene { admin, server, upstream, available, schema, location };
        if available.lacks(FaultKind::DiskFull).is_none() {
            let prepared = room::prepare(&scene).await;
            prepared.map_err(|error| scene.unreachable("at the trigger", &error))?;
        }
        Ok(Tormented { backend, scene: Arc::new(scene), seats: Mutex::default() })
    }

    /// What can be done to its operations.
    pub fn available(&self) -> Available {
        self.scene.available
    }

    /// The schema's name, which is also the `application_name` of all connections of the
    /// backend and its handles.
    pub fn schema(&self) -> &str {
        &self.scene.schema
    }

    /// The handles that are in use.
    fn seats(&self) -> Vec<Arc<Seat>> {
        let mut seats = lock(&self.seats);
        seats.retain(|seat| seat.strong_count() > 0);
        seats.iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends what faults still keep up: the server is up, and nothing is held or swallowed.
    async fn heal(&self) -> Result<(), BackendError> {
        self.scene.until_up().await?;
        for seat in self.seats() {
            if let Some(line) = seat.line.get() {
                line.go_on().await;
                line.heal();
            }
        }
        Ok(())
    }
}

impl Scene {
    /// Waits until the server is up.
    pub(super) async fn until_up(&self) -> Result<(), BackendError> {
        match &self.server {
            Some(server) => server.until_up().await,
            None => Ok(()),
        }
    }

    pub(super) fn unreachable(&self, doing: &str, error: &sqlx::Error) -> BackendError {
        let reason = format!("{doing}: {error}");
        BackendError::Unreachable { location: self.location.clone(), reason }
    }
}

impl Backend for Tormented {
    type Store = TormentedStore;

    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    async fn store(&self) -> Result<TormentedStore, BackendError> {
        self.scene.until_up().await?;
        let store = self.backend.store().await?;
        let seat = Arc::new(Seat::default());
        lock(&self.seats).push(Arc::downgrade(&seat));
        Ok(TormentedStore::new(store, seat, self.scene.clone()))
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        self.scene.until_up().await?;
        self.backend.audit(sessions).await
    }

    async fn settle(&mut self) -> Result<Vec<Finding>, BackendError> {
        self.heal().await?;
        // A handle keeps a connection only while all that was sent on it is answered, so once
        // all others are gone, nothing is still to come.
        let kept = self.backend.connected().await;
        aftermath::left_behind(&self.scene, &kept).await
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.heal().await?;
        self.backend.reopen().await
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.heal().await?;
        let removed = room::remove(&self.scene).await;
        removed.map_err(|error| self.scene.unreachable("at the trigger", &error))?;
        self.scene.admin.close().await;
        self.backend.remove().await
    }
}

/// Where a line is to lead to. A handle that connects by a socket cannot be led elsewhere.
async fn upstream(
    options: &PgConnectOptions,
    location: &str,
) -> Result<Option<Upstream>, BackendError> {
    if options.get_socket().is_some() || options.get_host().starts_with('/') {
        return Ok(None);
    }
    let unknown =
        |reason: String| BackendError::Unreachable { location: location.to_owned(), reason };
    let found = lookup_host((options.get_host(), options.get_port())).await;
    let address = found.map_err(|error| unknown(error.to_string()))?.next();
    let address = address.ok_or_else(|| unknown("its host has no address".to_owned()))?;
    Ok(Some(Upstream::Tcp(address)))
}

fn lock(seats: &Mutex<Vec<Weak<Seat>>>) -> MutexGuard<'_, Vec<Weak<Seat>>> {
    seats.lock().unwrap_or_else(PoisonError::into_inner)
}

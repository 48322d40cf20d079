//! One throw-away PostgreSQL server for all tests of the binary, started by the first one
//! that needs it.

use std::sync::{Mutex, PoisonError};

use stagefault_chaos::servers::{Options, PostgresServer};
use stagefault_models::{BackendError, Namespaces};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::{PostgresBackend, PostgresNamespaces, PostgresOptions};

/// Fresh schemas on the server.
#[derive(Clone, Copy)]
pub struct Postgres {
    /// The bugs planted in each.
    pub flaws: Flaws,
}

/// The server, or why there is none, once somebody has asked.
static SERVER: Mutex<Option<Result<PostgresServer, String>>> = Mutex::new(None);

/// Stops the server, if there is one: a static is never dropped.
pub fn stop() {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner).take();
}

impl Namespaces for Postgres {
    type Backend = PostgresBackend;

    async fn fresh(&self) -> Result<PostgresBackend, BackendError> {
        let options = PostgresOptions::from_url(&url()?)?;
        PostgresNamespaces { options, flaws: self.flaws }.fresh().await
    }
}

fn url() -> Result<String, BackendError> {
    let mut server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let start = || PostgresServer::start(Options::default()).map_err(|error| error.to_string());
    match server.get_or_insert_with(start) {
        Ok(server) => Ok(server.url()),
        Err(reason) => Err(BackendError::Unreachable {
            location: "a throw-away PostgreSQL server".to_owned(),
            reason: reason.clone(),
        }),
    }
}

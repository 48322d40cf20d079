//! Fresh namespaces to torment, on a server of one's own or on a given one.

use std::sync::Arc;

use stagefault_models::{BackendError, Namespaces};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::{PostgresNamespaces, PostgresOptions};

use super::available::Available;
use super::backend::Tormented;
use super::server::MortalServer;

/// Fresh schemas of the postgres store whose connections, callers and server meet faults.
#[derive(Clone, Debug)]
pub struct TormentedNamespaces {
    inner: PostgresNamespaces,
    server: Option<Arc<MortalServer>>,
}

impl TormentedNamespaces {
    /// On a throw-away server, which may be killed. The server ends with the last of these,
    /// of their backends and handles.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] when the server's URL cannot be understood.
    pub fn on_own(server: Arc<MortalServer>, flaws: Flaws) -> Result<Self, BackendError> {
        let options = PostgresOptions::from_url(server.url())?;
        let inner = PostgresNamespaces { options, flaws };
        Ok(TormentedNamespaces { inner, server: Some(server) })
    }

    /// On somebody's server, which is never killed. There, only our own connections are
    /// ended; and where it is connected to by a Unix socket, only callers meet faults.
    pub fn on_given(options: PostgresOptions, flaws: Flaws) -> Self {
        TormentedNamespaces { inner: PostgresNamespaces { options, flaws }, server: None }
    }

    /// What can be done there.
    pub fn available(&self) -> Available {
        Available { server: self.server.is_some(), connection: !self.inner.options.is_by_socket() }
    }
}

impl Namespaces for TormentedNamespaces {
    type Backend = Tormented;

    async fn fresh(&self) -> Result<Tormented, BackendError> {
        if let Some(server) = &self.server {
            server.until_up().await?;
        }
        let backend = self.inner.fresh().await?;
        Tormented::around(backend, self.server.clone(), self.available()).await
    }
}

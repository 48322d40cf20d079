//! The canary: a store that always answers wrongly. A hunt that does not catch it reports
//! nothing, whatever it says of the flaws.

use stagefault_models::audit::Audit;
use stagefault_models::{
    Backend, BackendError, Capabilities, Completion, Id, Namespaces, Operation, Reply, Scope, Store,
};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::{MemoryBackend, MemoryStore};

/// Fresh canaries.
pub struct CanaryNamespaces;

/// A memory store of which every session seems to begin at version 2.
pub struct CanaryBackend(MemoryBackend);

/// A handle on it.
pub struct CanaryStore(MemoryStore);

impl Namespaces for CanaryNamespaces {
    type Backend = CanaryBackend;

    async fn fresh(&self) -> Result<CanaryBackend, BackendError> {
        Ok(CanaryBackend(MemoryBackend::open(Flaws::none())))
    }
}

impl Backend for CanaryBackend {
    type Store = CanaryStore;

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn store(&self) -> Result<CanaryStore, BackendError> {
        self.0.store().await.map(CanaryStore)
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        self.0.audit(sessions).await
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.0.reopen().await
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.0.remove().await
    }
}

impl Store for CanaryStore {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        match self.0.execute(operation, scope).await {
            Completion::Done(Reply::Created { .. }) => {
                Completion::Done(Reply::Created { version: 2 })
            }
            completion => completion,
        }
    }
}

//! How to hold a store of your own to the whole suite: three small traits and one call.
//!
//! This is a test binary with a harness of its own (`harness = false` in `Cargo.toml`). The
//! store here keeps its sessions in the memory store, in place of yours; the rest is what
//! you would write. Run it with `cargo test --test own_store`.

use std::process::ExitCode;

use stagefault_models::audit::Audit;
use stagefault_models::{
    Backend, BackendError, Capabilities, Completion, Id, Namespaces, Operation, Scope, Store,
};
use stagefault_properties::suite;
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::{MemoryBackend, MemoryStore};

fn main() -> ExitCode {
    // Where schedules that fail are kept, to be replayed first the next time.
    let kept = [env!("CARGO_MANIFEST_DIR"), "tests", "kept", "own"].iter().collect();
    suite::main("own", OwnNamespaces, kept)
}

/// Makes databases, schemas or prefixes that nobody has used.
#[derive(Clone)]
struct OwnNamespaces;

/// One of them, opened.
struct OwnBackend {
    sessions: MemoryBackend,
}

/// One writer's connection to it.
struct OwnStore {
    connection: MemoryStore,
}

impl Namespaces for OwnNamespaces {
    type Backend = OwnBackend;

    async fn fresh(&self) -> Result<OwnBackend, BackendError> {
        Ok(OwnBackend { sessions: MemoryBackend::open(Flaws::none()) })
    }
}

impl Backend for OwnBackend {
    type Store = OwnStore;

    fn capabilities(&self) -> Capabilities {
        Capabilities { durable: false }
    }

    async fn store(&self) -> Result<OwnStore, BackendError> {
        Ok(OwnStore { connection: self.sessions.store().await? })
    }

    // The rows as they are, read past your store: what finds leftovers and gaps.
    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        self.sessions.audit(sessions).await
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.sessions.reopen().await
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.sessions.remove().await
    }
}

impl Store for OwnStore {
    // The contract is data: match on the operation, call your store, and say what the
    // caller may conclude. An error before the commit was sent is `NotApplied`, and from
    // then on `Unknown`.
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        self.connection.execute(operation, scope).await
    }
}

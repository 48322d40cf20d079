//! A backend whose handles tell the statements that they sent, for a raw client to repeat.
//! Part of the benchmarks that measure a lane beside such a client.

pub mod sending;

use std::sync::{Arc, Mutex};

use stagefault_models::audit::Audit;
use stagefault_models::{
    Backend, BackendError, Capabilities, Completion, Id, Operation, Scope, Store,
};
use stagefault_stores::{postgres, sqlite};

/// A store whose handles trace.
pub trait Traces: Store {
    /// A statement as it was sent.
    type Traced: Send + 'static;

    /// Traces from now on.
    fn record(&mut self);

    /// What was sent since.
    fn take(&mut self) -> Vec<Self::Traced>;
}

impl Traces for sqlite::SqliteStore {
    type Traced = sqlite::Traced;

    fn record(&mut self) {
        self.record_trace();
    }

    fn take(&mut self) -> Vec<sqlite::Traced> {
        self.take_trace()
    }
}

impl Traces for postgres::PostgresStore {
    type Traced = postgres::Traced;

    fn record(&mut self) {
        self.record_trace();
    }

    fn take(&mut self) -> Vec<postgres::Traced> {
        self.take_trace()
    }
}

/// What the handles of one backend sent, by operation, in the order in which these began.
pub struct Log<T>(Arc<Mutex<Sent<T>>>);

struct Sent<T> {
    connections: usize,
    operations: Vec<Executed<T>>,
}

/// What an operation sent.
pub struct Executed<T> {
    /// The number of its connection.
    #[allow(dead_code, reason = "the concurrent lane's operations go to whoever is free")]
    pub connection: usize,
    pub statements: Vec<T>,
}

impl<T> Log<T> {
    /// Takes what was sent since the last call; no operation is open.
    pub fn take(&self) -> Vec<Executed<T>> {
        std::mem::take(&mut self.0.lock().expect("one thread").operations)
    }

    /// Keeps the place of an operation that begins.
    fn begin(&self, connection: usize) -> usize {
        let operations = &mut self.0.lock().expect("one thread").operations;
        operations.push(Executed { connection, statements: Vec::new() });
        operations.len() - 1
    }

    fn end(&self, place: usize, statements: Vec<T>) {
        self.0.lock().expect("one thread").operations[place].statements = statements;
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Log(self.0.clone())
    }
}

/// A backend whose handles trace.
pub struct Tracing<B: Backend<Store: Traces>> {
    inner: B,
    pub log: Log<<B::Store as Traces>::Traced>,
}

impl<B: Backend<Store: Traces>> Tracing<B> {
    pub fn of(inner: B) -> Self {
        let sent = Sent { connections: 0, operations: Vec::new() };
        Tracing { inner, log: Log(Arc::new(Mutex::new(sent))) }
    }
}

pub struct TracingStore<S: Traces> {
    inner: S,
    connection: usize,
    log: Log<S::Traced>,
}

impl<B: Backend<Store: Traces>> Backend for Tracing<B> {
    type Store = TracingStore<B::Store>;

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn store(&self) -> Result<TracingStore<B::Store>, BackendError> {
        let inner = self.inner.store().await?;
        let mut sent = self.log.0.lock().expect("one thread");
        sent.connections += 1;
        Ok(TracingStore { inner, connection: sent.connections - 1, log: self.log.clone() })
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        self.inner.audit(sessions).await
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.inner.reopen().await
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.inner.remove().await
    }
}

impl<S: Traces> Store for TracingStore<S> {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        let place = self.log.begin(self.connection);
        self.inner.record();
        let completion = self.inner.execute(operation, scope).await;
        self.log.end(place, self.inner.take());
        completion
    }
}

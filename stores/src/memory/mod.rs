//! The memory store: sessions in striped, locked maps.
//!
//! It is as fast as a store can be, so a lane that runs on it measures and exercises the
//! lane. A session's operations are atomic under the lock of its stripe; a sweep takes
//! one stripe after the other, which is all that the contract asks of a sweep.

mod calls;
mod planted;
mod record;
mod staging;
mod sweep;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stagefault_models::audit::{Audit, RawSession};
use stagefault_models::{
    Backend, BackendError, Capabilities, Completion, Id, Namespaces, Operation, Point, Refusal,
    Reply, Scope, Store,
};

use crate::flaws::Flaws;
use planted::is_in_halves;
use record::Record;

/// One map of sessions in this process's memory.
pub struct MemoryBackend {
    shared: Arc<Stripes>,
}

/// One writer's handle on a [`MemoryBackend`].
pub struct MemoryStore {
    shared: Arc<Stripes>,
}

/// More than any lane has writers that are on a processor at the same time.
const STRIPES: usize = 16;

struct Stripes {
    stripes: [Mutex<BTreeMap<Id, Record>>; STRIPES],
    flaws: Flaws,
}

type Answer = Result<Reply, Refusal>;

impl MemoryBackend {
    /// An empty store, with bugs if any are planted.
    pub fn open(flaws: Flaws) -> Self {
        let stripes = std::array::from_fn(|_| Mutex::default());
        MemoryBackend { shared: Arc::new(Stripes { stripes, flaws }) }
    }
}

/// Fresh memory stores.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryNamespaces {
    /// The bugs planted in each.
    pub flaws: Flaws,
}

impl Namespaces for MemoryNamespaces {
    type Backend = MemoryBackend;

    async fn fresh(&self) -> Result<MemoryBackend, BackendError> {
        Ok(MemoryBackend::open(self.flaws))
    }
}

impl Backend for MemoryBackend {
    type Store = MemoryStore;

    fn capabilities(&self) -> Capabilities {
        Capabilities { durable: false }
    }

    async fn store(&self) -> Result<MemoryStore, BackendError> {
        Ok(MemoryStore { shared: self.shared.clone() })
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        let raw = |id: &Id| -> Option<(Id, RawSession)> {
            Some((id.clone(), self.shared.stripe(id).get(id)?.raw()))
        };
        Ok(sessions.iter().filter_map(raw).collect())
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    async fn remove(self) -> Result<(), BackendError> {
        Ok(())
    }
}

impl Store for MemoryStore {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        if scope.hook.is_none() && !self.shared.pauses(operation) {
            return self.shared.answer(operation).into();
        }
        // Boxed, for all others are made no slower by what these few need.
        Box::pin(self.shared.held(operation, scope)).await.into()
    }
}

impl Stripes {
    /// Whether others may do something in the middle of the operation: of a sweep, which is
    /// atomic for each session only, and of what a planted race takes apart.
    fn pauses(&self, operation: &Operation) -> bool {
        operation.session().is_none() || is_in_halves(&self.flaws, operation)
    }

    /// Executes an operation that may be held on its way.
    async fn held(&self, operation: &Operation, scope: &Scope<'_>) -> Answer {
        scope.reach(Point::Acquire).await;
        let answer = self.with_pauses(operation, scope).await;
        scope.reach(Point::Reply).await;
        answer
    }

    async fn with_pauses(&self, operation: &Operation, scope: &Scope<'_>) -> Answer {
        if !self.pauses(operation) {
            return self.answer(operation);
        }
        operation.validate()?;
        match operation {
            Operation::ExpireCalls { now } => Ok(self.expire_calls(*now, scope).await),
            Operation::Cleanup { now, staging_ttl } => {
                Ok(self.cleanup(*now, *staging_ttl, scope).await)
            }
            _ => self.in_halves(operation, scope).await,
        }
    }

    /// Executes an operation on one session, all at once.
    fn answer(&self, operation: &Operation) -> Answer {
        operation.validate()?;
        match operation {
            Operation::CreateSession { session, expires_at } => self.create(session, *expires_at),
            Operation::DeleteSession { session } => self.delete(session),
            _ => self.within(operation),
        }
    }

    fn create(&self, id: &Id, expires_at: Option<u64>) -> Answer {
        let mut stripe = self.stripe(id);
        if let Some(record) = stripe.get(id) {
            return Err(Refusal::SessionExists { version: record.seen.version });
        }
        stripe.insert(id.clone(), Record::new(expires_at));
        Ok(Reply::Created { version: 1 })
    }

    fn delete(&self, id: &Id) -> Answer {
        match self.stripe(id).remove(id) {
            Some(_) => Ok(Reply::Deleted),
            None => Err(Refusal::SessionNotFound),
        }
    }

    /// The operations on a session that must exist.
    fn within(&self, operation: &Operation) -> Answer {
        let id = operation.session().expect("a sweep pauses, and comes another way");
        let mut stripe = self.stripe(id);
        match stripe.get_mut(id) {
            Some(record) => record.execute(operation, &self.flaws),
            None => Err(Refusal::SessionNotFound),
        }
    }

    fn stripe(&self, id: &Id) -> MutexGuard<'_, BTreeMap<Id, Record>> {
        lock(&self.stripes[(id.stable_hash() >> 32) as usize % STRIPES])
    }
}

/// A writer that panicked left its session as it was: every operation checks before it writes.
fn lock(stripe: &Mutex<BTreeMap<Id, Record>>) -> MutexGuard<'_, BTreeMap<Id, Record>> {
    stripe.lock().unwrap_or_else(PoisonError::into_inner)
}

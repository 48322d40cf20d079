//! Faults between a writer and its store, at memory speed.
//!
//! An [`Injecting`] backend gives handles that do what a broken connection does to a
//! writer: an operation that is not executed, one that is executed and whose reply is lost,
//! and one whose effect comes late, when others run already. All of it is true of the store
//! behind: what is reported [`Completion::NotApplied`] is never executed, and what is
//! reported [`Completion::Unknown`] is executed once, or never. A fault that is done for real
//! ([`Fault::At`]) is handed on to the store behind.
//!
//! Which operation fails, and how, is said by whoever calls ([`Store::plan`]), for
//! a fault is part of a schedule. Every fault that fired leaves a receipt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stagefault_models::audit::{Audit, Finding};
use stagefault_models::{
    Backend, BackendError, Capabilities, Cause, Completion, Failure, Fault, Id, Namespaces,
    Operation, Point, Reason, Receipt, Scope, Store,
};

/// Namespaces whose backends inject faults.
#[derive(Clone, Copy, Debug)]
pub struct InjectingNamespaces<N>(pub N);

/// A backend whose handles inject faults.
pub struct Injecting<B> {
    backend: B,
    late: Late,
}

/// A handle that injects the faults that it is told to.
pub struct InjectingStore<S> {
    store: S,
    late: Late,
    planned: Option<Fault>,
    receipt: Option<Receipt>,
}

/// Operations whose effect is still to come, shared by all handles of a backend, for it
/// comes by the hand of whoever calls when the time has come.
type Late = Arc<Mutex<Vec<Postponed>>>;

struct Postponed {
    operation: Operation,
    /// How many others are still to be called before.
    remaining: u32,
}

impl<N: Namespaces> Namespaces for InjectingNamespaces<N> {
    type Backend = Injecting<N::Backend>;

    async fn fresh(&self) -> Result<Self::Backend, BackendError> {
        Ok(Injecting::new(self.0.fresh().await?))
    }
}

impl<B> Injecting<B> {
    /// Stands between the writers and this backend.
    pub fn new(backend: B) -> Self {
        Injecting { backend, late: Late::default() }
    }
}

impl<B: Backend> Backend for Injecting<B> {
    type Store = InjectingStore<B::Store>;

    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    async fn store(&self) -> Result<Self::Store, BackendError> {
        let store = self.backend.store().await?;
        Ok(InjectingStore { store, late: self.late.clone(), planned: None, receipt: None })
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        self.backend.audit(sessions).await
    }

    async fn settle(&mut self) -> Result<Vec<Finding>, BackendError> {
        self.backend.settle().await
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.backend.reopen().await
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.backend.remove().await
    }
}

impl<S: Store> InjectingStore<S> {
    /// Executes all that is still to come late, so that nothing is in doubt any more.
    pub async fn settle(&mut self, scope: &Scope<'_>) {
        let postponed = std::mem::take(&mut *lock(&self.late));
        for Postponed { operation, .. } in postponed {
            self.store.execute(&operation, scope).await;
        }
    }

    /// Executes what has waited for this call.
    async fn catch_up(&mut self, scope: &Scope<'_>) {
        for operation in self.due() {
            // Its writer was told that it is in doubt, which any completion is within.
            self.store.execute(&operation, scope).await;
        }
    }

    fn due(&self) -> Vec<Operation> {
        let mut late = lock(&self.late);
        if late.is_empty() {
            return Vec::new();
        }
        for postponed in late.iter_mut() {
            postponed.remaining -= 1;
        }
        let (due, later) = late.drain(..).partition(|postponed| postponed.remaining == 0);
        *late = later;
        let due: Vec<Postponed> = due;
        due.into_iter().map(|postponed| postponed.operation).collect()
    }

    async fn injected(
        &mut self,
        fault: Fault,
        operation: &Operation,
        scope: &Scope<'_>,
    ) -> Completion {
        let (completion, applied) = match fault {
            Fault::NotApplied => {
                scope.reach(Point::Acquire).await;
                (Completion::NotApplied(failure("not executed")), Some(false))
            }
            Fault::UnknownBefore => {
                scope.reach(Point::Acquire).await;
                (Completion::Unknown(failure("not executed, and the writer not told")), Some(false))
            }
            Fault::UnknownLate { after } if after > 0 => {
                scope.reach(Point::Acquire).await;
                let operation = operation.clone();
                lock(&self.late).push(Postponed { operation, remaining: after });
                (Completion::Unknown(failure("still to be executed")), None)
            }
            Fault::UnknownAfter | Fault::UnknownLate { .. } => {
                match self.store.execute(operation, scope).await {
                    Completion::Done(_) | Completion::Refused(_) => {
                        (Completion::Unknown(failure("executed, and the reply lost")), Some(true))
                    }
                    // The store has met trouble of its own.
                    completion => return completion,
                }
            }
            Fault::At { .. } => {
                self.store.plan(Some(fault));
                let completion = self.store.execute(operation, scope).await;
                self.receipt = self.store.receipt();
                return completion;
            }
        };
        self.receipt = Some(Receipt { fault, applied });
        completion
    }
}

impl<S: Store> Store for InjectingStore<S> {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        self.catch_up(scope).await;
        match self.planned.take() {
            None => self.store.execute(operation, scope).await,
            Some(fault) => self.injected(fault, operation, scope).await,
        }
    }

    fn plan(&mut self, fault: Option<Fault>) {
        self.planned = fault;
        self.receipt = None;
    }

    fn receipt(&mut self) -> Option<Receipt> {
        self.receipt.take()
    }
}

fn failure(what: &str) -> Failure {
    Failure { cause: Cause::Connection, reason: Reason(format!("injected: {what}")) }
}

fn lock(late: &Late) -> MutexGuard<'_, Vec<Postponed>> {
    late.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use stagefault_models::{Refusal, Reply, StoreModel};

    use super::*;

    /// The model, as a store of one writer.
    #[derive(Clone, Default)]
    struct Model(Arc<Mutex<StoreModel>>);

    impl Store for Model {
        async fn execute(&mut self, operation: &Operation, _: &Scope<'_>) -> Completion {
            self.0.lock().expect("nobody panicked").step(operation).into()
        }
    }

    fn store() -> InjectingStore<Model> {
        let (store, late) = (Model::default(), Late::default());
        InjectingStore { store, late, planned: None, receipt: None }
    }

    fn at_once<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("nothing here waits"),
        }
    }

    fn create(
        store: &mut InjectingStore<Model>,
        fault: Option<Fault>,
        session: &str,
    ) -> Completion {
        store.plan(fault);
        let operation = Operation::CreateSession { session: session.into(), expires_at: None };
        let completion = at_once(store.execute(&operation, &Scope::default()));
        let fired = matches!(completion, Completion::NotApplied(_) | Completion::Unknown(_));
        assert_eq!(store.receipt().map(|receipt| receipt.fault), fault.filter(|_| fired));
        completion
    }

    /// Whether the session is there, as a caller of the store behind sees it.
    fn is_there(store: &InjectingStore<Model>, session: &str) -> bool {
        store.store.0.lock().expect("nobody panicked").session(&session.into()).is_some()
    }

    #[test]
    fn without_a_fault_the_store_answers() {
        let mut store = store();
        assert_eq!(create(&mut store, None, "s"), Completion::Done(Reply::Created { version: 1 }));
        let exists = Refusal::SessionExists { version: 1 };
        assert_eq!(create(&mut store, None, "s"), Completion::Refused(exists));
    }

    #[test]
    fn what_is_not_applied_has_no_effect() {
        let mut store = store();
        let completion = create(&mut store, Some(Fault::NotApplied), "s");
        assert!(matches!(completion, Completion::NotApplied(_)));
        assert!(!is_there(&store, "s"));
    }

    #[test]
    fn what_is_in_doubt_before_its_effect_has_none() {
        let mut store = store();
        let completion = create(&mut store, Some(Fault::UnknownBefore), "s");
        assert!(matches!(completion, Completion::Unknown(_)));
        at_once(store.settle(&Scope::default()));
        assert!(!is_there(&store, "s"));
    }

    #[test]
    fn what_is_in_doubt_after_its_effect_has_it() {
        let mut store = store();
        let completion = create(&mut store, Some(Fault::UnknownAfter), "s");
        assert!(matches!(completion, Completion::Unknown(_)));
        assert!(is_there(&store, "s"));
    }

    #[test]
    fn a_late_effect_comes_with_the_call_that_it_waits_for_and_once() {
        let mut store = store();
        let late = Some(Fault::UnknownLate { after: 2 });
        assert!(matches!(create(&mut store, late, "late"), Completion::Unknown(_)));
        create(&mut store, None, "first");
        assert!(!is_there(&store, "late"));
        // The call that it waits for finds the effect made.
        let exists = Refusal::SessionExists { version: 1 };
        assert_eq!(create(&mut store, None, "late"), Completion::Refused(exists));
        assert!(lock(&store.late).is_empty());
    }

    #[test]
    fn a_late_effect_that_nobody_waits_for_comes_when_all_is_settled() {
        let mut store = store();
        create(&mut store, Some(Fault::UnknownLate { after: 9 }), "late");
        assert!(!is_there(&store, "late"));
        at_once(store.settle(&Scope::default()));
        assert!(is_there(&store, "late"));
    }
}

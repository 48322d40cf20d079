//! The same traits for a store that is chosen at run time.
//!
//! [`Namespaces`], [`Backend`] and [`Store`] answer with futures of their own types, so
//! the hot path is compiled for each store, and so none of them can be a `dyn`. A command
//! that reads the store's name from its arguments works on [`BoxedNamespaces`] instead: it
//! implements the same traits, at the price of one allocation for each call. Behind it are
//! three private twins of the traits that return boxed futures.

use std::future::Future;
use std::pin::Pin;

use super::{Backend, BackendError, Capabilities, Namespaces, Scope, Store};
use crate::audit::{Audit, Finding};
use crate::{Completion, Fault, Id, Operation, Receipt};

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Any store's namespaces.
pub struct BoxedNamespaces(Box<dyn AnyNamespaces>);

/// Any store's backend.
pub struct BoxedBackend(Box<dyn AnyBackend>);

/// Any store's handle for one writer.
pub struct BoxedStore(Box<dyn AnyStore>);

impl BoxedNamespaces {
    /// Forgets which store's namespaces these are.
    pub fn new(namespaces: impl Namespaces + 'static) -> Self {
        BoxedNamespaces(Box::new(namespaces))
    }
}

impl Namespaces for BoxedNamespaces {
    type Backend = BoxedBackend;

    async fn fresh(&self) -> Result<BoxedBackend, BackendError> {
        self.0.boxed_fresh().await
    }
}

impl Backend for BoxedBackend {
    type Store = BoxedStore;

    fn capabilities(&self) -> Capabilities {
        self.0.any_capabilities()
    }

    async fn store(&self) -> Result<BoxedStore, BackendError> {
        self.0.boxed_store().await
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        self.0.boxed_audit(sessions).await
    }

    async fn settle(&mut self) -> Result<Vec<Finding>, BackendError> {
        self.0.boxed_settle().await
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.0.boxed_reopen().await
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.0.boxed_remove().await
    }
}

impl Store for BoxedStore {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        self.0.boxed_execute(operation, scope).await
    }

    fn plan(&mut self, fault: Option<Fault>) {
        self.0.any_plan(fault);
    }

    fn receipt(&mut self) -> Option<Receipt> {
        self.0.any_receipt()
    }
}

trait AnyNamespaces: Send + Sync {
    fn boxed_fresh(&self) -> Boxed<'_, Result<BoxedBackend, BackendError>>;
}

impl<N: Namespaces> AnyNamespaces for N {
    fn boxed_fresh(&self) -> Boxed<'_, Result<BoxedBackend, BackendError>> {
        Box::pin(async { Ok(BoxedBackend(Box::new(self.fresh().await?))) })
    }
}

trait AnyBackend: Send + Sync {
    fn any_capabilities(&self) -> Capabilities;
    fn boxed_store(&self) -> Boxed<'_, Result<BoxedStore, BackendError>>;
    fn boxed_audit<'a>(&'a self, sessions: &'a [Id]) -> Boxed<'a, Result<Audit, BackendError>>;
    fn boxed_settle(&mut self) -> Boxed<'_, Result<Vec<Finding>, BackendError>>;
    fn boxed_reopen(&mut self) -> Boxed<'_, Result<(), BackendError>>;
    fn boxed_remove(self: Box<Self>) -> Boxed<'static, Result<(), BackendError>>;
}

impl<B: Backend> AnyBackend for B {
    fn any_capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn boxed_store(&self) -> Boxed<'_, Result<BoxedStore, BackendError>> {
        Box::pin(async { Ok(BoxedStore(Box::new(self.store().await?))) })
    }

    fn boxed_audit<'a>(&'a self, sessions: &'a [Id]) -> Boxed<'a, Result<Audit, BackendError>> {
        Box::pin(self.audit(sessions))
    }

    fn boxed_settle(&mut self) -> Boxed<'_, Result<Vec<Finding>, BackendError>> {
        Box::pin(self.settle())
    }

    fn boxed_reopen(&mut self) -> Boxed<'_, Result<(), BackendError>> {
        Box::pin(self.reopen())
    }

    fn boxed_remove(self: Box<Self>) -> Boxed<'static, Result<(), BackendError>> {
        Box::pin(self.remove())
    }
}

trait AnyStore: Send {
    fn boxed_execute<'a>(
        &'a mut self,
        operation: &'a Operation,
        scope: &'a Scope<'_>,
    ) -> Boxed<'a, Completion>;
    fn any_plan(&mut self, fault: Option<Fault>);
    fn any_receipt(&mut self) -> Option<Receipt>;
}

impl<S: Store> AnyStore for S {
    fn boxed_execute<'a>(
        &'a mut self,
        operation: &'a Operation,
        scope: &'a Scope<'_>,
    ) -> Boxed<'a, Completion> {
        Box::pin(self.execute(operation, scope))
    }

    fn any_plan(&mut self, fault: Option<Fault>) {
        self.plan(fault);
    }

    fn any_receipt(&mut self) -> Option<Receipt> {
        self.receipt()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::Reply;

    /// Notes in one list what every part of it is asked.
    #[derive(Clone, Default)]
    struct Noting(Arc<Mutex<Vec<String>>>);

    impl Noting {
        fn note(&self, what: impl Into<String>) {
            self.0.lock().expect("nobody panicked").push(what.into());
        }
    }

    impl Namespaces for Noting {
        type Backend = Noting;

        async fn fresh(&self) -> Result<Noting, BackendError> {
            self.note("fresh");
            Ok(self.clone())
        }
    }

    impl Backend for Noting {
        type Store = Noting;

        fn capabilities(&self) -> Capabilities {
            Capabilities { durable: true }
        }

        async fn store(&self) -> Result<Noting, BackendError> {
            self.note("store");
            Ok(self.clone())
        }

        async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
            self.note(format!("audit {sessions:?}"));
            Ok(Audit::new())
        }

        async fn settle(&mut self) -> Result<Vec<Finding>, BackendError> {
            self.note("settle");
            Ok(Vec::new())
        }

        async fn reopen(&mut self) -> Result<(), BackendError> {
            self.note("reopen");
            Ok(())
        }

        async fn remove(self) -> Result<(), BackendError> {
            self.note("remove");
            let (location, reason) = ("here".to_owned(), "no".to_owned());
            Err(BackendError::Unreachable { location, reason })
        }
    }

    impl Store for Noting {
        async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
            self.note(format!("execute {:?} within {:?}", operation.kind(), scope.deadline));
            Completion::Done(Reply::Touched)
        }

        fn plan(&mut self, fault: Option<Fault>) {
            self.note(format!("plan {fault:?}"));
        }

        fn receipt(&mut self) -> Option<Receipt> {
            self.note("receipt");
            Some(Receipt { fault: Fault::NotApplied, applied: Some(false) })
        }
    }

    fn at_once<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("nothing here waits"),
        }
    }

    #[test]
    fn every_call_reaches_the_store_behind_the_box_and_its_answer_comes_back() {
        let noting = Noting::default();
        let namespaces = BoxedNamespaces::new(noting.clone());
        let mut backend = at_once(namespaces.fresh()).expect("it answers");
        assert!(backend.capabilities().durable);
        let mut store = at_once(backend.store()).expect("it answers");
        let operation = Operation::Touch { session: "s".into(), expires_at: None };
        store.plan(Some(Fault::NotApplied));
        let completion = at_once(store.execute(&operation, &Scope::default()));
        assert_eq!(completion, Completion::Done(Reply::Touched));
        let receipt = Receipt { fault: Fault::NotApplied, applied: Some(false) };
        assert_eq!(store.receipt(), Some(receipt));
        assert!(at_once(backend.settle()).expect("it answers").is_empty());
        assert!(at_once(backend.audit(&["s".into()])).expect("it answers").is_empty());
        at_once(backend.reopen()).expect("it answers");
        let error = at_once(backend.remove()).expect_err("it refuses");
        assert_eq!(error.to_string(), "cannot reach here: no");
        assert_eq!(
            *noting.0.lock().expect("nobody panicked"),
            [
                "fresh",
                "store",
                "plan Some(NotApplied)",
                "execute Touch within 10s",
                "receipt",
                "settle",
                "audit [\"s\"]",
                "reopen",
                "remove"
            ]
        );
    }
}

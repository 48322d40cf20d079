//! The traits a store under test implements, and nothing about how it does.
//!
//! A [`Backend`] is one namespace of a store (a file, a schema, a key prefix), opened by
//! a constructor of its own. It gives every writer a [`Store`] handle, lets its raw rows
//! be audited past the API, and can be closed and opened again. A [`Store`] has one
//! method: an operation in, a completion out. [`Namespaces`] makes fresh backends for the
//! lanes. All are static on the hot path; where the store is chosen at run time,
//! [`BoxedNamespaces`] stands for any of them.

mod boxed;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::audit::{Audit, Finding};
use crate::{Completion, Fault, Id, Operation, Point, Receipt};

pub use boxed::{BoxedBackend, BoxedNamespaces, BoxedStore};

/// One namespace of a store under test, which Stagefault made and may remove.
pub trait Backend: Send + Sync + Sized + 'static {
    /// What each writer works with.
    type Store: Store;

    /// What the store promises beyond the contract.
    fn capabilities(&self) -> Capabilities;

    /// A handle for one writer, with whatever connection it needs.
    fn store(&self) -> impl Future<Output = Result<Self::Store, BackendError>> + Send;

    /// The raw rows of these sessions, read past the store's API.
    fn audit(&self, sessions: &[Id]) -> impl Future<Output = Result<Audit, BackendError>> + Send;

    /// Waits, at an episode's end, until the server is up and nothing that faults broke off goes
    /// on there, and tells what is left behind: open transactions, locks, connections. All
    /// operations have returned. Handles that work go on working.
    fn settle(&mut self) -> impl Future<Output = Result<Vec<Finding>, BackendError>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    /// Closes the namespace and opens it again. Handles given out before are closed or
    /// useless; after an error the backend is, too.
    fn reopen(&mut self) -> impl Future<Output = Result<(), BackendError>> + Send;

    /// Closes the namespace and removes all that it left, and nothing else.
    fn remove(self) -> impl Future<Output = Result<(), BackendError>> + Send;
}

/// Where fresh, empty namespaces of one store come from: what a lane is given to work on.
pub trait Namespaces: Send + Sync {
    /// What is opened.
    type Backend: Backend;

    /// Makes a namespace that nobody has used, and opens it.
    fn fresh(&self) -> impl Future<Output = Result<Self::Backend, BackendError>> + Send;
}

/// One writer's handle on a store.
pub trait Store: Send + 'static {
    /// Executes one operation within a scope. It never panics, and returns by the
    /// scope's deadline; a caller that drops the future must take the operation as in doubt.
    fn execute(
        &mut self,
        operation: &Operation,
        scope: &Scope<'_>,
    ) -> impl Future<Output = Completion> + Send;

    /// Has the next operation meet this fault. A store alone injects none: those that do
    /// stand around it.
    fn plan(&mut self, fault: Option<Fault>) {
        let _ = fault;
    }

    /// The receipt for the fault that the last operation met, if one fired.
    fn receipt(&mut self) -> Option<Receipt> {
        None
    }
}

/// What a store promises beyond the contract; a probe holds it against behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What was acknowledged is there after the namespace was closed and opened again.
    pub durable: bool,
}

/// The circumstances under which an operation is executed.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// How long the operation may take. The store keeps this itself, for it knows in
    /// which phase time ran out, and so whether the operation may have applied.
    pub deadline: Duration,
    /// Who wants to know of the points that the operation reaches.
    pub hook: Option<&'a dyn Hook>,
}

impl Default for Scope<'_> {
    fn default() -> Self {
        Scope { deadline: Duration::from_secs(10), hook: None }
    }
}

impl Scope<'_> {
    /// Tells the hook, if there is one, that the operation is at `point`.
    #[inline]
    pub fn reach(&self, point: Point) -> Reach<'_> {
        Reach(self.hook.map(|hook| hook.reached(point)))
    }
}

/// A hook's hold on an operation, if there is a hook. Not an `async fn`, for then each of
/// the points on the way would cost a state machine and not a branch.
#[must_use = "the operation is held only while this is awaited"]
pub struct Reach<'a>(Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl Future for Reach<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            None => Poll::Ready(()),
            Some(held) => held.as_mut().poll(context),
        }
    }
}

/// Hears of the points that an operation reaches, and may hold it there.
pub trait Hook: Send + Sync {
    /// Called at the point; the operation goes on when the future is done.
    fn reached(&self, point: Point) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Why a namespace could not be opened, audited, closed or removed.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// Nothing answers there, or the file system refuses.
    #[error("cannot reach {location}: {reason}")]
    Unreachable {
        /// The namespace, without secrets.
        location: String,
        /// What the driver or the system said.
        reason: String,
    },
    /// There is something there that Stagefault did not make, and so will not touch.
    #[error(
        "{location} was not made by stagefault ({reason}); name a place that does not exist yet"
    )]
    NotOurs {
        /// The namespace, without secrets.
        location: String,
        /// What is missing or different.
        reason: String,
    },
    /// Stagefault made it, and its rows cannot be understood.
    #[error("{location} is damaged: {reason}")]
    Damaged {
        /// The namespace, without secrets.
        location: String,
        /// What was found.
        reason: String,
    },
}

//! Faults done for real to a PostgreSQL store: to an operation's connection, its caller, and
//! the server itself.
//!
//! A [`Tormented`] backend stands around a [`PostgresBackend`]. Its handles do what they are
//! told by [`Store::plan`]: when the operation reaches the planned point, it is held there,
//! the fault is done, and then it goes on to meet what was done. Points that the store
//! itself cannot see, between the sending of a commit and the arrival of its answer, are
//! known to a [`Line`](crate::proxy::Line), through which a handle connects from its first
//! fault on that needs one. Whatever was done is healed, by the end of the operation or by
//! [`Backend::settle`], which also looks at what was left behind.
//!
//! - `namespaces` and `backend` make the backend, and `store` executes one operation under
//!   its fault; `plan` puts a fault into a line's terms, and `point` holds an operation where
//!   it is to be done. In a `contest` another transaction gets in the operation's way; and
//!   there may be no `room` for what it commits.
//! - `admin` is the server's administrator, `server` the server that may be killed, and
//!   `aftermath` what is looked for when all is over.
//! - [`available`] says what can be done where, and what may come of it.
//!
//! [`PostgresBackend`]: stagefault_stores::postgres::PostgresBackend
//! [`Store::plan`]: stagefault_models::Store::plan
//! [`Backend::settle`]: stagefault_models::Backend::settle

mod admin;
mod aftermath;
pub mod available;
mod backend;
mod contest;
mod namespaces;
mod plan;
mod point;
mod room;
mod server;
mod store;

pub use available::Available;
pub use backend::Tormented;
pub use namespaces::TormentedNamespaces;
pub use server::MortalServer;
pub use store::TormentedStore;

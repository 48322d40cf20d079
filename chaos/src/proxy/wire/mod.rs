//! The wire protocol of PostgreSQL, version 3, as far as a proxy must understand it.
//!
//! Pure and incremental: bytes go in as they come, in pieces of any size, and whole
//! messages come out.
//!
//! - `framing` cuts a stream into messages; what is not the protocol, or is encrypted, it
//!   calls opaque and hands through.
//! - [`frontend`] reads what a client says, and [`backend`] what a server says.
//! - [`sql`] says of a text which kinds of statements it holds: what begins, commits, writes.

pub mod backend;
mod framing;
pub mod frontend;
pub mod sql;

#[cfg(test)]
pub(super) mod tests;

pub use backend::{Backend, BackendParser, TransactionStatus};
pub use frontend::{Frontend, FrontendParser};

//! The fault proxy: between one writer and PostgreSQL, it cuts exactly where it is told to.
//!
//! It reads what client and server say to each other, and so a fault is addressed by
//! operation and place: before BEGIN is delivered, after the k-th statement, with the commit
//! sent and not delivered, with the commit delivered and its answer lost. Nothing in it
//! waits for time to pass, and nothing depends on the store: one without hooks is served too.
//!
//! - `line` is the proxy as its owner sees it, and `fault` what it can do and tell.
//! - [`wire`] understands the protocol; `session` decides what becomes of every byte of a
//!   connection, both without any input or output.
//! - `faults` keeps the fault that is armed, `switchboard` shares it among connections, and
//!   `connection` reads and writes.

mod connection;
mod fault;
mod faults;
mod line;
mod session;
mod switchboard;
pub mod wire;

pub use connection::Upstream;
pub use fault::{Answer, Commit, Kind, Place, WireFault, WireReceipt};
pub use line::Line;

// For another front: see `toxiproxy`.
pub(crate) use connection::{Seat, exchange, next_client};
pub(crate) use session::Ending;
pub(crate) use switchboard::Switchboard;

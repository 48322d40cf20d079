//! A Toxiproxy of our own: the HTTP API of Toxiproxy 2, over the fault proxy.
//!
//! Any client of Toxiproxy, in any language, makes proxies here and puts toxics on them. All
//! standard toxics are there, and one more that reads PostgreSQL's protocol: `postgres_cut`
//! does at a place of an operation what a [`Line`](crate::proxy::Line) does, and tells what
//! became of the commit. It differs from the original where safety asks for it: it listens
//! on this machine only, and leads to this machine only, unless a host is allowed.
//!
//! - `server` answers HTTP, and `api` says what a request does and what is answered.
//! - `collection` has the proxies; `listener` is what a proxy does while it is enabled.
//! - `toxic` is a toxic as a client writes it, `attributes` what each kind can be told, and
//!   `toxics` those of a proxy.
//! - `stage` is what a toxic does to the bytes of one direction of a connection, without any
//!   input or output; `chain` puts stages in a row, and `link` reads and writes.
//! - `client`, of the cargo feature `toxiproxy`, drives a real Toxiproxy.
//! - `address` keeps everything on this machine.

mod address;
mod api;
mod attributes;
mod chain;
#[cfg(feature = "toxiproxy")]
pub mod client;
mod collection;
mod error;
mod link;
mod listener;
mod server;
mod stage;
mod toxic;
mod toxics;

pub use address::Allowed;
pub use attributes::STANDARD_TYPES;
pub use server::{ServeError, ToxiproxyServer};

//! Faults for the stores under test, and the servers that they are injected into.
//!
//! - [`injecting`]: a backend between a writer and its store, whose answers fail as planned.
//! - [`proxy`]: between a writer and PostgreSQL, it cuts exactly where it is told to.
//! - [`servers`]: throw-away servers, from the binaries on this machine, that end with the
//!   process that started them.
//! - [`torment`]: a backend whose connections, callers and server meet faults for real.
//! - [`toxiproxy`]: the proxy for stores in any language, by the HTTP API of Toxiproxy.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may fail by panic"))]

pub mod injecting;
pub mod proxy;
pub mod servers;
pub mod torment;
pub mod toxiproxy;

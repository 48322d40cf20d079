//! Throw-away PostgreSQL servers: they serve, they come again, and they leave nothing behind.
//!
//! Run as root, these tests also hold servers as an ordinary user.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod ends;
mod failures;
mod holder;
mod serves;
mod traces;

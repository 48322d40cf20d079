//! The stores under test. Each is an independent implementation of the contract.
//!
//! None of them calls the reference model, for a store that shared its code would share
//! its mistakes. What they share is the contract's types and the merging of changes into
//! a state, which is written once for all of them and apart from the model's own.
//!
//! - [`memory`]: striped locks; the fastest, to exercise the lanes themselves.
//! - [`sqlite`]: a real SQLite file, through sqlx; the embedded default.
//! - [`postgres`]: a schema of a PostgreSQL database, through sqlx.
//! - [`flaws`]: planted bugs, off by default, that prove that the lanes can fail.

pub mod flaws;
pub mod memory;
mod merge;
pub mod postgres;
pub mod sqlite;

//! Faults done for real to the postgres store: each fires where it is planned, comes to what
//! the table says, leaves nothing behind, and is over when it is over.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod commits;
mod desk;
mod faults;
mod kills;
mod leaks;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../../../stores/tests/shared/requests.rs"]
mod requests;

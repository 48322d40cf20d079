//! Specifications of things simpler than sessions, and the published histories of them.

#![allow(dead_code, reason = "each of the tests and benchmarks uses what it needs")]

pub mod cells;
pub mod etcd;
pub mod key_value;
pub mod published;
pub mod register;

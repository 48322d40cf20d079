//! Toxiproxy's API over the fault proxy: what is asked is answered as Toxiproxy does, and
//! every toxic shows on real connections.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod api;
mod cuts;
mod desk;
mod effects;
mod safety;

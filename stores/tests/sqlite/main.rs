//! The sqlite store against its promises: what the contract says, and what a file, a
//! lock, a deadline and a caller that goes away do to it.

mod faults;
mod files;
mod left_open;
mod model;
mod points;
mod processes;
#[path = "../shared/mod.rs"]
mod shared;
mod support;
mod values;
mod writers;

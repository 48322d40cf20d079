//! How fast the sequential lane is, and its parts.
//!
//! - `memory/lane`: generation, model, store, load and comparison after every operation,
//!   validation, and the checks at each episode's end. The profile's episodes must be as
//!   rich at read-back as [`episodes::assert_rich`] asks, or the figure would flatter.
//! - `memory/model`: the reference model alone, on the same operations.
//! - `memory/generator`: the generator alone, on a session as rich as the mean one.
//! - `sqlite/lane` beside `sqlite/raw`: the very same statements sent through sqlx alone,
//!   read-backs included, with no model, no comparison and nothing read from the rows.
//! - `postgres/lane` beside `postgres/raw`: the same on a throw-away server.
//!
//! An element is an operation of a schedule. Run it with
//! `cargo bench -p stagefault-benches --bench sequential`.

mod episodes;
mod memory;
mod postgres;
mod sqlite;
#[path = "../tracing/mod.rs"]
mod tracing;
#[path = "../unplanted.rs"]
mod unplanted;

use criterion::{Criterion, criterion_group};

/// As in the `stagefault` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

criterion_group!(benches, memory::bench, sqlite::bench, postgres::bench);

fn main() {
    unplanted::check();
    benches();
    Criterion::default().configure_from_args().final_summary();
}

//! The checker against a search with nothing clever in it, on small random histories, and
//! what it says of the histories that have no order.

mod budgets;
mod cells;
mod laws;
mod orders;
mod partitions;
mod plain;
mod random;
mod registers;
mod sessions;
mod stacks;
mod verdicts;
mod worlds;

#[path = "../specifications/mod.rs"]
mod specifications;
#[path = "../words/mod.rs"]
#[allow(dead_code)]
mod words;

//! The stores that the properties are held to.

use std::path::PathBuf;

use libtest_mimic::Trial;
use stagefault_models::Namespaces;
use stagefault_properties::suite::Suite;
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::MemoryNamespaces;
use stagefault_stores::sqlite::SqliteNamespaces;

use crate::postgres::Postgres;

/// Every property on every store.
pub fn trials() -> Vec<Trial> {
    let flaws = Flaws::none();
    [
        on("memory", MemoryNamespaces { flaws }),
        on("sqlite", SqliteNamespaces::temporary(flaws).expect("a temporary folder")),
        on("postgres", Postgres { flaws }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Every property on this store.
fn on<N: Namespaces + Clone + 'static>(store: &'static str, namespaces: N) -> Vec<Trial> {
    Suite { store, namespaces, kept: kept(store) }.trials()
}

/// Where the failing schedules of a store are kept, beside the tests.
fn kept(store: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "kept", store].iter().collect()
}

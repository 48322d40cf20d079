//! The stores that the properties are held to.

use std::path::PathBuf;

use libtest_mimic::Trial;
use stagefault_properties::suite::{self, Suite};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::MemoryNamespaces;
use stagefault_stores::sqlite::SqliteNamespaces;

/// Every property on every store.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let memory = MemoryNamespaces { flaws: Flaws::none() };
    trials.extend(Suite { store: "memory", namespaces: memory, kept: kept("memory") }.trials());
    match SqliteNamespaces::temporary(Flaws::none()) {
        Ok(sqlite) => {
            let suite = Suite { store: "sqlite", namespaces: sqlite, kept: kept("sqlite") };
            trials.extend(suite.trials());
        }
        Err(error) => trials.extend(suite::unavailable("sqlite", &error)),
    }
    trials
}

/// Where the failing schedules of a store are kept, beside the tests.
fn kept(store: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "kept", store].iter().collect()
}

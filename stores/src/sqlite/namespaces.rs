//! Fresh SQLite files, numbered, in one folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stagefault_models::{BackendError, Namespaces};
use tempfile::TempDir;

use super::SqliteBackend;
use crate::flaws::Flaws;

/// Fresh SQLite files in a folder. Clones share the folder, and never a file.
#[derive(Clone)]
pub struct SqliteNamespaces {
    folder: PathBuf,
    next: Arc<AtomicU64>,
    flaws: Flaws,
    /// Goes with the last clone, and takes the folder with it.
    _temporary: Option<Arc<TempDir>>,
}

impl SqliteNamespaces {
    /// In a folder that exists, and in which nobody else makes files.
    pub fn within(folder: PathBuf, flaws: Flaws) -> Self {
        SqliteNamespaces { folder, next: Arc::default(), flaws, _temporary: None }
    }

    /// In a folder of its own among the system's temporary files.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] when there is no room for one.
    pub fn temporary(flaws: Flaws) -> Result<Self, BackendError> {
        let made = tempfile::Builder::new().prefix("stagefault-").tempdir();
        let folder = made.map_err(|error| BackendError::Unreachable {
            location: std::env::temp_dir().display().to_string(),
            reason: error.to_string(),
        })?;
        let within = SqliteNamespaces::within(folder.path().to_owned(), flaws);
        Ok(SqliteNamespaces { _temporary: Some(Arc::new(folder)), ..within })
    }
}

impl Namespaces for SqliteNamespaces {
    type Backend = SqliteBackend;

    async fn fresh(&self) -> Result<SqliteBackend, BackendError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("store-{number}.db"));
        Ok(SqliteBackend::open(&path).await?.with_flaws(self.flaws))
    }
}

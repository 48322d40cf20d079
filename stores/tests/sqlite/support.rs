//! What the tests share: a database in a folder of its own.

use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use stagefault_stores::sqlite::SqliteBackend;
use tempfile::TempDir;

pub use crate::shared::requests::*;

/// A folder for one test's files.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A new database in a folder, and the folder, which must live as long.
pub async fn database() -> (TempDir, SqliteBackend) {
    let folder = folder();
    let backend = open(&folder.path().join("store.db")).await;
    (folder, backend)
}

pub async fn open(path: &Path) -> SqliteBackend {
    SqliteBackend::open(path).await.expect("the database opens")
}

/// A connection past the store.
pub async fn raw(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    options.connect().await.expect("a raw connection")
}

pub async fn execute_raw(path: &Path, sql: &'static str) {
    let mut connection = raw(path).await;
    sqlx::raw_sql(sql).execute(&mut connection).await.expect(sql);
    connection.close().await.expect("the raw connection closes");
}

/// Every file in the folder with its bytes, in order of the names.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), std::fs::read(path).expect("a readable file")))
        .collect();
    files.sort();
    files
}

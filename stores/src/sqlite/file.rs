//! The database file: made whole, recognised without being changed, removed without
//! touching anything else.
//!
//! A new database is made under a name of its own beside the wanted one and linked to it
//! when it is complete, so a process killed on the way leaves a draft, and no half-made
//! database that nobody would recognise; and two that make the same one at once share one.
//! An existing file is looked at through SQLite and not by reading it, for in POSIX a
//! process that closes any descriptor of a file loses all its locks on it, those of its
//! other connections too. It is opened as immutable: no lock, no recovery, no write.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor};
use stagefault_models::BackendError;

use super::failure::{backend_error, failure};
use super::schema::{Mark, bring_up_to_date};

/// What SQLite may keep beside a database, by what it adds to the name.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Makes the database if there is nothing at `path`, and makes sure that it is ours
/// otherwise. Answers its path without symbolic links.
pub(super) async fn settle(path: &Path) -> Result<PathBuf, BackendError> {
    if let Some(existing) = recognise(path).await? {
        return Ok(existing);
    }
    create(path).await?;
    recognise(path).await?.ok_or_else(|| unreachable_at(path, "it went away when it was made"))
}

/// Removes the database and the two files that SQLite keeps beside it.
pub(super) async fn remove(path: &Path) -> Result<(), BackendError> {
    if recognise(path).await?.is_none() {
        return Ok(());
    }
    // The log goes first: beside another database of this name it would be replayed.
    for file in [beside(path, "-wal"), beside(path, "-shm"), path.to_owned()] {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(unreachable_at(&file, error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn unreachable_at(path: &Path, reason: impl ToString) -> BackendError {
    BackendError::Unreachable { location: path.display().to_string(), reason: reason.to_string() }
}

fn not_ours(path: &Path, reason: impl ToString) -> BackendError {
    BackendError::NotOurs { location: path.display().to_string(), reason: reason.to_string() }
}

fn failed(path: &Path, doing: &str, error: &sqlx::Error) -> BackendError {
    backend_error(path.display().to_string(), failure(doing, error))
}

/// The database's path without symbolic links, if it is ours; `None`: there is nothing.
async fn recognise(path: &Path) -> Result<Option<PathBuf>, BackendError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreachable_at(path, error)),
        Ok(_) => {}
    }
    // SQLite keeps its other files beside the file itself, not beside a link to it.
    let path = fs::canonicalize(path).map_err(|error| unreachable_at(path, error))?;
    let metadata = fs::metadata(&path).map_err(|error| unreachable_at(&path, error))?;
    if !metadata.is_file() {
        return Err(not_ours(&path, "it is not a file"));
    }
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .read_only(true)
        .immutable(true)
        // Without its log, which is not read, a file may be shorter than it says. For SQLite
        // that is damage, unless it is told that we know better; the mark is in the first page.
        .pragma("writable_schema", "ON");
    let mark = async {
        let mut connection = options.connect().await?;
        let mark = Mark::read(&mut connection).await;
        connection.close().await?;
        mark
    };
    match mark.await {
        Ok(mark) => match mark.objection() {
            None => Ok(Some(path)),
            Some(objection) => Err(not_ours(&path, objection)),
        },
        Err(error) if is_no_database(&error) => Err(not_ours(&path, "it is not a database")),
        Err(error) => Err(failed(&path, "reading its mark", &error)),
    }
}

/// SQLite's NOTADB, at whatever moment it noticed.
fn is_no_database(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "26")
}

/// Makes a database and gives it the name, unless somebody else did in the meantime.
async fn create(path: &Path) -> Result<(), BackendError> {
    // What is left of another database would be taken for a part of this one.
    for suffix in BESIDE {
        let left = beside(path, suffix);
        if fs::symlink_metadata(&left).is_ok() {
            // Or it belongs to one that somebody made since we looked.
            return match fs::symlink_metadata(path) {
                Ok(_) => Ok(()),
                Err(_) => Err(not_ours(&left, "it belongs to a database that is gone")),
            };
        }
    }
    let draft = Draft::claim(path)?;
    draft.fill().await.map_err(|error| failed(path, "making it", &error))?;
    match fs::hard_link(&draft.path, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(unreachable_at(path, format!("no link can be made to it: {error}")))
        }
        _ => Ok(()),
    }
}

/// A database in the making, removed when dropped.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn claim(path: &Path) -> Result<Draft, BackendError> {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
            let draft = beside(path, &format!(".draft-{}-{number}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&draft) {
                Ok(_) => return Ok(Draft { path: draft }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(unreachable_at(path, "the folder that it is in does not exist"));
                }
                Err(error) => return Err(unreachable_at(path, error)),
            }
        }
    }

    /// Gives it the schema and the mark, all of it in the one file.
    async fn fill(&self) -> Result<(), sqlx::Error> {
        let mut connection = SqliteConnectOptions::new().filename(&self.path).connect().await?;
        bring_up_to_date(&mut connection).await?;
        // Last, and so without a log that closing might fail to take into the file.
        connection.execute("PRAGMA journal_mode = WAL").await?;
        connection.close().await
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Nothing can be done about a draft that does not go, and it harms nobody.
        let _ = fs::remove_file(&self.path);
        for suffix in BESIDE {
            let _ = fs::remove_file(beside(&self.path, suffix));
        }
    }
}

/// The file's path with something added to its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

//! What the tests share: a database in a folder of its own, and short ways to say things.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use stagefault_models::{
    Backend, Change, Completion, Message, Operation, Promote, Reply, Scope, Snapshot, Stage, Store,
    Value,
};
use stagefault_stores::sqlite::{SqliteBackend, SqliteStore};
use tempfile::TempDir;

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

pub async fn handle(backend: &SqliteBackend) -> SqliteStore {
    backend.store().await.expect("a handle")
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

pub async fn execute(store: &mut SqliteStore, operation: Operation) -> Completion {
    store.execute(&operation, &Scope::default()).await
}

pub async fn done(store: &mut SqliteStore, operation: Operation) -> Reply {
    match execute(store, operation.clone()).await {
        Completion::Done(reply) => reply,
        other => panic!("{operation:?} was not done: {other:?}"),
    }
}

pub async fn snapshot(store: &mut SqliteStore, session: &str) -> Snapshot {
    match done(store, load(session)).await {
        Reply::Snapshot(snapshot) => *snapshot,
        other => panic!("not a snapshot: {other:?}"),
    }
}

pub async fn messages(store: &mut SqliteStore, session: &str) -> Vec<Message> {
    let read = Operation::ReadMessages { session: session.into(), offset: 0, limit: 1000 };
    match done(store, read).await {
        Reply::Page { messages, .. } => messages,
        other => panic!("not a page: {other:?}"),
    }
}

pub fn create(session: &str) -> Operation {
    Operation::CreateSession { session: session.into(), expires_at: None }
}

pub fn delete(session: &str) -> Operation {
    Operation::DeleteSession { session: session.into() }
}

pub fn load(session: &str) -> Operation {
    Operation::Load { session: session.into() }
}

pub fn append(session: &str, messages: Vec<Message>) -> Operation {
    Operation::AppendMessages { session: session.into(), messages }
}

pub fn message(id: &str, body: impl Into<Value>) -> Message {
    Message { id: id.into(), body: body.into() }
}

pub fn stage(session: &str, step: &str, call: &str, changes: Vec<Change>) -> Operation {
    let changes = Arc::from(changes);
    let (session, step, call) = (session.into(), step.into(), call.into());
    Operation::Stage(Stage { session, step, call, at: 1, changes })
}

pub fn promote(
    session: &str,
    step: &str,
    expected: u64,
    changes: Vec<Change>,
    messages: Vec<Message>,
) -> Operation {
    let (session, step) = (session.into(), step.into());
    Operation::Promote(Promote { session, step, expected, status: None, changes, messages })
}

pub fn set(key: &str, value: impl Into<Value>) -> Change {
    Change::Set { key: key.into(), value: value.into() }
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

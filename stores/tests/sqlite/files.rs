//! The database file: made, recognised, refused, kept, and removed.

use stagefault_models::{Backend, BackendError, Completion, Operation, Reply, Value};
use stagefault_stores::sqlite::SqliteBackend;

use crate::support::*;

#[tokio::test]
async fn what_was_acknowledged_is_there_after_reopening() {
    let (folder, mut backend) = database().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, stage("s", "t", "c", vec![set("k", 1)])).await;
    done(&mut store, append("s", vec![message("m", "body")])).await;
    let before = snapshot(&mut store, "s").await;

    backend.reopen().await.expect("it opens again");
    let mut again = handle(&backend).await;
    assert_eq!(snapshot(&mut again, "s").await, before);
    let late = execute(&mut store, load("s")).await;
    assert!(matches!(late, Completion::NotApplied(_)), "an old handle is closed: {late:?}");

    drop((store, again, backend));
    let backend = open(&folder.path().join("store.db")).await;
    assert_eq!(snapshot(&mut handle(&backend).await, "s").await, before);
}

#[tokio::test]
async fn a_database_in_memory_is_shared_by_its_handles_and_outlives_them() {
    let mut backend = SqliteBackend::in_memory().await.expect("memory");
    assert!(!backend.capabilities().durable);
    let (mut one, mut two) = (handle(&backend).await, handle(&backend).await);
    done(&mut one, create("s")).await;
    assert_eq!(snapshot(&mut two, "s").await.version, 1);
    drop((one, two));
    backend.reopen().await.expect("it stays open");
    assert_eq!(snapshot(&mut handle(&backend).await, "s").await.version, 1);

    let other = SqliteBackend::in_memory().await.expect("memory");
    let elsewhere = execute(&mut handle(&other).await, load("s")).await;
    assert!(matches!(elsewhere, Completion::Refused(_)), "{elsewhere:?}");
}

#[tokio::test]
async fn two_backends_of_one_file_see_each_other() {
    let folder = folder();
    let path = folder.path().join("store.db");
    let (one, two) = tokio::join!(open(&path), open(&path));
    done(&mut handle(&one).await, create("s")).await;
    assert_eq!(snapshot(&mut handle(&two).await, "s").await.version, 1);
    assert!(
        contents(folder.path())
            .iter()
            .all(|(path, _)| { !path.to_string_lossy().contains("draft") })
    );
}

#[tokio::test]
async fn removing_leaves_nothing_of_ours_and_all_of_others() {
    let (folder, backend) = database().await;
    std::fs::write(folder.path().join("store.db.txt"), "not ours").expect("a file");
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    drop(handle(&backend).await);
    backend.remove().await.expect("it is removed");
    let left = contents(folder.path());
    assert_eq!(left, [(folder.path().join("store.db.txt"), b"not ours".to_vec())]);
    let late = execute(&mut store, create("s2")).await;
    assert!(matches!(late, Completion::NotApplied(_)), "{late:?}");
    assert_eq!(contents(folder.path()), left);
}

#[tokio::test]
async fn a_file_that_took_the_place_of_ours_is_not_removed() {
    let (folder, backend) = database().await;
    let path = folder.path().join("store.db");
    std::fs::remove_file(&path).expect("ours goes");
    std::fs::write(&path, "somebody else's").expect("another comes");
    assert!(matches!(backend.remove().await, Err(BackendError::NotOurs { .. })));
    assert_eq!(std::fs::read(&path).expect("it is there"), b"somebody else's");
}

/// Opens what `make` left in a folder as `store.db`, which must be refused and left alone.
async fn is_refused(what: &str, make: impl AsyncFn(&std::path::Path)) {
    let folder = folder();
    let path = folder.path().join("store.db");
    make(&path).await;
    let before = contents(folder.path());
    match SqliteBackend::open(&path).await {
        Err(BackendError::NotOurs { .. }) => {}
        Err(other) => panic!("{what}: refused as something else: {other}"),
        Ok(_) => panic!("{what}: opened"),
    }
    assert!(contents(folder.path()) == before, "{what}: changed by the attempt");
}

#[tokio::test]
async fn what_is_not_ours_is_refused_and_left_as_it_is() {
    is_refused("an empty file", async |path| std::fs::write(path, "").expect("a file")).await;
    is_refused("a short text", async |path| std::fs::write(path, "hello").expect("a file")).await;
    is_refused("a long text", async |path| {
        std::fs::write(path, "hello ".repeat(10_000)).expect("a file");
    })
    .await;
    is_refused("another application's database", async |path| {
        execute_raw(
            path,
            "PRAGMA application_id = 7; CREATE TABLE t (x); INSERT INTO t VALUES (1)",
        )
        .await;
    })
    .await;
    is_refused("a database without a mark", async |path| {
        execute_raw(path, "CREATE TABLE sessions (x); PRAGMA user_version = 1").await;
    })
    .await;
    is_refused("ours of a later schema", async |path| {
        drop(open(path).await);
        execute_raw(path, "PRAGMA user_version = 99").await;
    })
    .await;
    is_refused("ours of no schema", async |path| {
        drop(open(path).await);
        execute_raw(path, "PRAGMA user_version = 0").await;
    })
    .await;
    is_refused("a folder", async |path| std::fs::create_dir(path).expect("a folder")).await;
    is_refused("the log of a database that is gone", async |path| {
        std::fs::write(path.with_extension("db-wal"), "frames").expect("a file");
    })
    .await;
}

#[tokio::test]
async fn another_database_that_its_owner_left_in_a_crash_is_not_recovered_by_us() {
    is_refused("a database with a log", async |path| {
        let crashed = path.with_extension("crashed");
        let mut owner = raw(&crashed).await;
        let sql = "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)";
        sqlx::raw_sql(sql).execute(&mut owner).await.expect(sql);
        // A copy of the files of an open database is what a crash leaves.
        std::fs::copy(&crashed, path).expect("the file");
        let log = |path: &std::path::Path| format!("{}-wal", path.display());
        std::fs::copy(log(&crashed), log(path)).expect("the log");
        sqlx::Connection::close(owner).await.expect("the owner closes");
    })
    .await;
}

#[tokio::test]
async fn a_file_that_a_crash_left_amid_a_checkpoint_is_ours_and_whole() {
    let (folder, backend) = database().await;
    let path = folder.path().join("store.db");
    let crashed = folder.path().join("crashed.db");
    let made = std::fs::metadata(&path).expect("the file").len();
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    let sent: Vec<_> =
        (0..20).map(|n| message(&format!("m{n}"), Value::string("x".repeat(9000)))).collect();
    done(&mut store, append("s", sent.clone())).await;
    // The log is as before the checkpoint, the file has got its first page and has not grown.
    std::fs::copy(path.with_extension("db-wal"), crashed.with_extension("db-wal")).expect("a copy");
    execute_raw(&path, "PRAGMA wal_checkpoint(PASSIVE)").await;
    let file = std::fs::read(&path).expect("the file");
    std::fs::write(&crashed, &file[..made as usize]).expect("a file");

    let backend = open(&crashed).await;
    assert_eq!(messages(&mut handle(&backend).await, "s").await, sent);
}

#[tokio::test]
async fn a_missing_folder_is_named_in_one_line() {
    let folder = folder();
    let path = folder.path().join("nowhere/store.db");
    let Err(error) = SqliteBackend::open(&path).await else { panic!("opened") };
    assert!(matches!(error, BackendError::Unreachable { .. }), "{error}");
    assert!(error.to_string().ends_with("the folder that it is in does not exist"), "{error}");
    assert_eq!(contents(folder.path()), []);
}

#[cfg(unix)]
#[tokio::test]
async fn a_symbolic_link_to_ours_is_followed_and_one_to_nothing_is_refused() {
    let (folder, backend) = database().await;
    done(&mut handle(&backend).await, create("s")).await;
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(folder.path().join("store.db"), &link).expect("a link");
    let linked = open(&link).await;
    assert_eq!(snapshot(&mut handle(&linked).await, "s").await.version, 1);

    let nothing = folder.path().join("nothing.db");
    std::os::unix::fs::symlink(folder.path().join("gone"), &nothing).expect("a link");
    let error = SqliteBackend::open(&nothing).await.err().expect("it leads nowhere");
    assert!(matches!(error, BackendError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn rows_that_nobody_wrote_are_reported_and_not_believed() {
    let (folder, backend) = database().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    execute_raw(&folder.path().join("store.db"), "UPDATE sessions SET state = '{'").await;
    for operation in [load("s"), promote("s", "t", 1, vec![set("k", 1)], vec![])] {
        let completion = execute(&mut store, operation).await;
        let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
        assert_eq!(failure.cause, stagefault_models::Cause::Damaged);
    }
    let audit = backend.audit(&["s".into()]).await;
    assert!(matches!(audit, Err(BackendError::Damaged { .. })), "{audit:?}");
    // The promote's transaction is over: others can write, and so can the same handle.
    done(&mut store, append("s", vec![message("m", Value::Null)])).await;
    done(&mut handle(&backend).await, append("s", vec![message("n", Value::Null)])).await;
}

#[tokio::test]
async fn an_audit_shows_rows_whose_session_is_gone() {
    let (folder, backend) = database().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, append("s", vec![message("m", 1)])).await;
    done(&mut store, Operation::BeginRun { session: "s".into(), run: "r".into() }).await;
    let sql = "PRAGMA foreign_keys = OFF; DELETE FROM sessions";
    execute_raw(&folder.path().join("store.db"), sql).await;

    let audit = backend.audit(&["s".into(), "other".into()]).await.expect("an audit");
    let rows = &audit[&"s".into()];
    assert_eq!(rows.head, None);
    assert_eq!(rows.messages, [(0, message("m", 1))]);
    assert_eq!(rows.runs, [(1, "r".into())]);
    assert_eq!(audit.len(), 1);
}

#[tokio::test]
async fn a_deleted_session_leaves_no_row() {
    let (_folder, backend) = database().await;
    let mut store = handle(&backend).await;
    for session in ["s", "t"] {
        done(&mut store, create(session)).await;
        done(&mut store, stage(session, "t", "c", vec![set("k", 1)])).await;
        done(&mut store, append(session, vec![message("m", 1)])).await;
        let (id, run) = (session.into(), "r".into());
        done(&mut store, Operation::BeginRun { session: id, run }).await;
        let (id, call, run) = (session.into(), "c".into(), "r".into());
        done(&mut store, Operation::RegisterCall { session: id, call, run, deadline: 5 }).await;
    }
    done(&mut store, delete("s")).await;
    done(&mut store, Operation::Touch { session: "t".into(), expires_at: Some(7) }).await;
    let swept = done(&mut store, Operation::Cleanup { now: 7, staging_ttl: 0 }).await;
    assert_eq!(swept, Reply::Cleaned { sessions: vec!["t".into()], staged: vec![] });
    let audit = backend.audit(&["s".into(), "t".into()]).await.expect("an audit");
    assert!(audit.is_empty(), "{audit:?}");
}

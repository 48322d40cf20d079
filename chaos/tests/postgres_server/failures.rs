//! A server that cannot be started says why, and leaves nothing behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use stagefault_chaos::servers::{Options, PostgresServer, ServerError};

use crate::holder::open_to_all;
use crate::traces::Traces;

/// The error of a start that fails and leaves its parent folder as empty as it was.
fn error_of(options: Options) -> ServerError {
    let parent = open_to_all();
    let traces = Traces::of(parent.path());
    let options = Options { parent: Some(parent.path().to_owned()), ..options };
    let error = PostgresServer::start(options).unwrap_err();
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    parent.close().unwrap();
    traces.assert_gone();
    error
}

#[test]
fn a_server_that_ends_at_once_is_quoted() {
    let settings = vec![("shared_buffers".to_owned(), "nonsense".to_owned())];
    let error = error_of(Options { settings, ..Options::default() });
    assert!(matches!(error, ServerError::NotReady { .. }), "{error:?}");
    assert!(error.to_string().contains(r#"invalid value for parameter "shared_buffers""#));
}

#[test]
fn an_initdb_that_fails_is_quoted() {
    let binaries = open_to_all();
    for program in ["initdb", "postgres", "pg_ctl"] {
        let file = binaries.path().join(program);
        fs::write(&file, "#!/bin/sh\necho no room >&2\nexit 1\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let error =
        error_of(Options { binaries: Some(binaries.path().to_owned()), ..Options::default() });
    assert!(matches!(error, ServerError::InitialisationFailed { .. }), "{error:?}");
    assert!(error.to_string().ends_with("no room"), "{error}");
}

#[test]
fn a_parent_folder_that_is_not_there_is_named() {
    let parent = open_to_all().path().join("missing");
    let error =
        PostgresServer::start(Options { parent: Some(parent), ..Options::default() }).unwrap_err();
    assert!(matches!(error, ServerError::FolderNotMade { .. }), "{error:?}");
    assert!(error.to_string().contains("No such file or directory"), "{error}");
}

#[test]
fn a_parent_folder_that_the_servers_user_cannot_write_in_is_named() {
    let parent = tempfile::tempdir().unwrap();
    fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let error = PostgresServer::start(Options {
        parent: Some(parent.path().to_owned()),
        ..Options::default()
    })
    .unwrap_err();
    assert!(matches!(error, ServerError::FolderNotMade { .. }), "{error:?}");
    assert!(error.to_string().contains("Permission denied"), "{error}");
}

#[test]
fn a_path_too_long_for_a_socket_is_refused_before_anything_is_made() {
    let parent = Some(Path::new("/tmp").join("long".repeat(20)));
    let error = PostgresServer::start(Options { parent, ..Options::default() }).unwrap_err();
    assert!(error.to_string().contains("at most 51 bytes"), "{error}");
}

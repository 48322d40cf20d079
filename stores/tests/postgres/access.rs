//! Getting in: the password, the host, and what an error says of them.

use stagefault_models::BackendError;
use stagefault_stores::postgres::{PostgresBackend, PostgresOptions};

use crate::support::*;

tests![
    a_wrong_password_is_told_in_one_line,
    a_missing_password_is_told_in_one_line,
    a_missing_server_is_told_in_one_line,
    a_missing_database_is_told_in_one_line,
    another_machine_is_refused_before_it_is_asked,
    the_name_of_a_schema_is_checked_before_it_is_used,
];

/// The password in the URL.
fn password(url: &str) -> &str {
    let (_, rest) = url.split_once("://stagefault:").expect("a user");
    rest.split_once('@').expect("a host").0
}

/// The error of opening a schema there, which must be one line without a password.
async fn error(url: &str, schema: &str) -> String {
    let options = PostgresOptions::from_url(url).expect("a URL");
    match PostgresBackend::open(&options, schema).await {
        Err(error @ BackendError::Unreachable { .. }) => {
            let shown = error.to_string();
            assert_eq!(shown.lines().count(), 1, "{shown}");
            let kept = format!("{error:?} {shown}");
            assert!(!kept.contains("hush") && !kept.contains(password(url)), "{kept}");
            shown
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
}

async fn a_wrong_password_is_told_in_one_line(server: Server) {
    let url = server.url().replace(password(server.url()), "hush");
    let error = error(&url, "stagefault_x").await;
    assert!(error.contains("wants another user or password"), "{error}");
    assert!(error.starts_with("cannot reach schema stagefault_x of stagefault@/"), "{error}");
}

async fn a_missing_password_is_told_in_one_line(server: Server) {
    let with = format!(":{}@", password(server.url()));
    let options = PostgresOptions::from_url(&server.url().replace(&with, "@")).expect("a URL");
    let error = PostgresBackend::open(&options, "stagefault_x").await.err().expect("no password");
    assert!(matches!(error, BackendError::Unreachable { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("wants another user or password"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

async fn a_missing_server_is_told_in_one_line(_: Server) {
    for url in [
        "postgres://stagefault:hush@%2Fnowhere:5432/postgres",
        "postgres://stagefault:hush@127.0.0.1:1/postgres",
    ] {
        let error = error(url, "stagefault_x").await;
        assert!(error.contains("no server answers there"), "{error}");
    }
}

async fn a_missing_database_is_told_in_one_line(server: Server) {
    let url = server.url().replace("/postgres", "/nowhere");
    let error = error(&url, "stagefault_x").await;
    assert!(error.contains("no such database"), "{error}");
}

async fn another_machine_is_refused_before_it_is_asked(_: Server) {
    let error = error("postgres://stagefault:hush@192.0.2.1/postgres", "stagefault_x").await;
    assert!(error.contains("192.0.2.1 is not this machine"), "{error}");
}

async fn the_name_of_a_schema_is_checked_before_it_is_used(server: Server) {
    for name in ["", "a\"; DROP SCHEMA public; --", "Upper", "ü", &"x".repeat(64)] {
        let error = error(server.url(), name).await;
        assert!(error.contains("the name of a schema is"), "{error}");
    }
    let error = error(server.url(), "pg_mine").await;
    assert!(error.contains("unacceptable schema name"), "{error}");
}

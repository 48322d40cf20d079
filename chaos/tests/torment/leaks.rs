//! What is left behind is found.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, raw_sql};
use stagefault_models::{Backend, Invariant};

use crate::desk::*;
use crate::requests::*;

/// A connection that passes for one of the backend's.
async fn one_more(name: &str) -> PgConnection {
    let options: PgConnectOptions = url().parse().unwrap();
    PgConnection::connect_with(&options.application_name(name)).await.unwrap()
}

#[tokio::test]
async fn a_transaction_that_is_left_open_is_found() {
    let mut backend = namespace().await;
    let (schema, _store) = (backend.schema().to_owned(), handle(&backend).await);
    let mut leak = one_more(&schema).await;
    raw_sql("BEGIN; SELECT pg_advisory_xact_lock(1)").execute(&mut leak).await.unwrap();
    let findings = backend.settle().await.unwrap();
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("that no handle uses any more"), "{texts:?}");
    assert!(
        texts[0].contains("is idle in transaction, with 2 locks, at: BEGIN; SELECT"),
        "{texts:?}"
    );
    assert!(findings.iter().all(|finding| finding.invariant == Invariant::Liveness));
    leak.close().await.unwrap();
    settle(&mut backend).await;
    backend.remove().await.unwrap();
}

#[tokio::test]
async fn a_connection_that_outlives_its_handle_is_found() {
    let mut backend = namespace().await;
    let store = handle(&backend).await;
    let leak = one_more(backend.schema()).await;
    drop(store);
    let findings = backend.settle().await.unwrap();
    let text = findings[0].to_string();
    assert!(text.contains("that no handle uses any more (backend "), "{text}");
    assert!(text.contains("is idle, with 0 locks"), "{text}");
    leak.close().await.unwrap();
    settle(&mut backend).await;
    backend.remove().await.unwrap();
}

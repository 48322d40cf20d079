//! A database of Stagefault's own on somebody's server: made with its mark, found again by
//! it, and removed by whoever made it.

use sqlx::{Connection, PgConnection};
use stagefault_models::{Backend, BackendError, Namespaces};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::{PostgresDatabase, PostgresNamespaces, PostgresOptions};

use crate::support::*;

tests![
    what_is_made_takes_all_characters,
    of_two_who_claim_it_at_once_one_makes_it,
    one_that_lost_its_mark_is_not_removed,
    one_that_somebody_is_in_is_not_removed,
];

/// The server, with this database in its URL.
fn url(server: &Server, database: &str) -> String {
    let (rest, _) = server.url().rsplit_once('/').expect("a database");
    format!("{rest}/{database}")
}

fn options(server: &Server, database: &str) -> PostgresOptions {
    PostgresOptions::from_url(&url(server, database)).expect("a URL")
}

async fn claim(server: &Server, database: &str) -> PostgresDatabase {
    PostgresDatabase::claim(&options(server, database)).await.expect("it is ours")
}

async fn databases(server: &Server, like: &str) -> i64 {
    let count = format!("SELECT count(*) FROM pg_database WHERE datname LIKE '{like}'");
    number(&mut server.raw().await, &count).await
}

async fn what_is_made_takes_all_characters(server: Server) {
    let database = claim(&server, "").await;
    let namespaces =
        PostgresNamespaces { options: database.options().clone(), flaws: Flaws::none() };
    let backend = namespaces.fresh().await.expect("a schema");
    let mut store = handle(&backend).await;
    done(&mut store, create("naïve ☃ 日本語")).await;
    backend.remove().await.expect("it is removed");
    database.remove().await.expect("it is removed");
}

async fn of_two_who_claim_it_at_once_one_makes_it(server: Server) {
    for round in 0..5 {
        let name = format!("at_once_{round}");
        let claim = || claim(&server, &name);
        let (one, two, three) = tokio::join!(claim(), claim(), claim());
        assert_eq!(databases(&server, &name).await, 1);
        for database in [one, two, three] {
            database.remove().await.expect("whoever made it removes it");
        }
        assert_eq!(databases(&server, &name).await, 0);
    }
}

async fn one_that_lost_its_mark_is_not_removed(server: Server) {
    let database = claim(&server, "handed_over").await;
    server.execute_raw("COMMENT ON DATABASE handed_over IS 'of somebody else now'").await;
    let error = database.remove().await.expect_err("it is not ours");
    assert!(matches!(error, BackendError::NotOurs { .. }), "{error}");
    assert_eq!(databases(&server, "handed_over").await, 1);
    server.execute_raw("DROP DATABASE handed_over").await;
}

async fn one_that_somebody_is_in_is_not_removed(server: Server) {
    let database = claim(&server, "in_use").await;
    let somebody = PgConnection::connect(&url(&server, "in_use")).await.expect("a connection");
    let error = database.remove().await.expect_err("it is in use");
    assert!(error.to_string().contains("being accessed by other users"), "{error}");
    assert_eq!(databases(&server, "in_use").await, 1);
    somebody.close().await.expect("it ends");
    server.execute_raw("DROP DATABASE in_use").await;
}

//! What the tests share: the server, schemas on it, and looking past the store.

use std::pin::Pin;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, Row, raw_sql};
use stagefault_models::{Backend, Namespaces};
use stagefault_stores::flaws::{Flaw, Flaws};
use stagefault_stores::postgres::{
    PostgresBackend, PostgresNamespaces, PostgresOptions, PostgresStore,
};
use tokio::task::JoinSet;

pub use crate::shared::requests::*;

/// A test, which gets the server that all share.
pub type Test = fn(Server) -> Pin<Box<dyn Future<Output = ()>>>;

/// The tests of a module, by name; after a semicolon those that plant a flaw, which only a
/// build with the cargo feature `flaws` can.
macro_rules! tests {
    ($($name:ident),* $(,)? $(; $($planted:ident),* $(,)?)?) => {
        pub fn tests() -> Vec<(&'static str, $crate::support::Test)> {
            let always = [$($crate::support::tests!(@one $name)),*];
            let planted = [$($($crate::support::tests!(@one $planted)),*)?];
            let planted = planted.into_iter().filter(|_| stagefault_stores::flaws::Flaws::ENABLED);
            always.into_iter().chain(planted).collect()
        }
    };
    (@one $name:ident) => {
        (
            concat!(module_path!(), "::", stringify!($name)),
            (|server| Box::pin($name(server))) as $crate::support::Test,
        )
    };
}
pub(crate) use tests;

/// Whether a test that cannot run fails.
pub fn is_required() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

/// Runs a test on a runtime of its own. A panic is its failure.
pub fn run(test: Test, server: Server) -> Result<(), Failed> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(test(server));
    Ok(())
}

/// The server.
#[derive(Clone)]
pub struct Server {
    url: String,
}

impl Server {
    pub fn at(url: String) -> Self {
        Server { url }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn options(&self) -> PostgresOptions {
        PostgresOptions::from_url(&self.url).expect("the server's URL")
    }

    /// The same server, to connect with this setting.
    pub fn options_with(&self, name: &str, value: &str) -> PostgresOptions {
        let connect: PgConnectOptions = self.url.parse().expect("the server's URL");
        PostgresOptions::new(connect.options([(name, value)]))
    }

    /// A new database, on the same server.
    pub async fn database(&self, name: &str) -> Server {
        self.execute_raw(&format!("CREATE DATABASE {name}")).await;
        self.in_database(name)
    }

    /// The same server, in this database of it.
    pub fn in_database(&self, name: &str) -> Server {
        let (server, _) = self.url.rsplit_once('/').expect("the server's URL names a database");
        Server::at(format!("{server}/{name}"))
    }

    pub fn namespaces(&self) -> PostgresNamespaces {
        PostgresNamespaces { options: self.options(), flaws: Flaws::none() }
    }

    /// A new schema.
    pub async fn schema(&self) -> PostgresBackend {
        self.namespaces().fresh().await.expect("a schema")
    }

    /// A new schema with this bug in its handles.
    pub async fn schema_with(&self, flaws: Flaws) -> PostgresBackend {
        self.schema().await.with_flaws(flaws)
    }

    /// A connection past the store.
    pub async fn raw(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.expect("a raw connection")
    }

    /// Executes SQL past the store.
    pub async fn execute_raw(&self, sql: &str) {
        raw_on(&mut self.raw().await, sql).await;
    }

    /// Waits until the server works for none of the schema's connections: then nothing that
    /// was abandoned can take effect any more.
    pub async fn settle(&self, backend: &PostgresBackend) {
        let busy = format!(
            "SELECT count(*) FROM pg_stat_activity
             WHERE application_name = '{}' AND state <> 'idle'",
            backend.schema()
        );
        becomes(&mut self.raw().await, &busy, 0).await;
    }
}

/// A bug to plant.
pub fn planted(flaw: Flaw) -> Flaws {
    Flaws::planted(flaw).expect("a build with the cargo feature `flaws`")
}

pub async fn raw_on(connection: &mut PgConnection, sql: &str) {
    raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.expect(sql);
}

/// The one number that the SQL selects.
pub async fn number(connection: &mut PgConnection, sql: &str) -> i64 {
    let row = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await.expect(sql);
    row.get(0)
}

/// The rows that the SQL selects, each one number.
pub async fn numbers(connection: &mut PgConnection, sql: &str) -> Vec<i64> {
    let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(connection).await.expect(sql);
    rows.iter().map(|row| row.get(0)).collect()
}

/// The rows that the SQL selects, each one text.
pub async fn texts(connection: &mut PgConnection, sql: &str) -> Vec<String> {
    let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(connection).await.expect(sql);
    rows.iter().map(|row| row.get(0)).collect()
}

/// Waits until the SQL selects this number, which must come about soon.
pub async fn becomes(connection: &mut PgConnection, sql: &str, wanted: i64) {
    let started = Instant::now();
    while number(connection, sql).await != wanted {
        assert!(started.elapsed() < Duration::from_secs(20), "it did not come about: {sql}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Runs `work` on as many handles at once, each on its own task.
pub async fn at_once<T: Send + 'static, F>(
    backend: &PostgresBackend,
    writers: usize,
    work: impl Fn(usize, PostgresStore) -> F,
) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
{
    let mut stores = Vec::new();
    for _ in 0..writers {
        stores.push(handle(backend).await);
    }
    let mut tasks = JoinSet::new();
    for (writer, store) in stores.into_iter().enumerate() {
        tasks.spawn(work(writer, store));
    }
    tasks.join_all().await
}

/// Removes the schema, of which nothing may be left.
pub async fn remove(server: &Server, backend: PostgresBackend) {
    let name = backend.schema().to_owned();
    backend.remove().await.expect("it is removed");
    let left = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{name}'");
    assert_eq!(number(&mut server.raw().await, &left).await, 0);
}

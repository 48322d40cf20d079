//! The toxic that reads PostgreSQL's protocol: where it cuts, and what it tells.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, query, query_scalar};
use stagefault_chaos::servers::{Listen, Options, PostgresServer};
use tokio::time::timeout;

use crate::desk::Desk;

/// How long a condition may take to come true, on a slow machine.
const LIMIT: Duration = Duration::from_secs(30);

static SERVER: LazyLock<PostgresServer> = LazyLock::new(|| {
    PostgresServer::start(Options { listen: Listen::Loopback, ..Options::default() }).unwrap()
});

/// A table, and connections to it: through a proxy, and past it.
struct Bench {
    desk: Desk,
    port: u16,
    table: &'static str,
    control: PgConnection,
}

impl Bench {
    async fn new(table: &'static str) -> Self {
        let desk = Desk::new().await;
        let port = desk.proxy("db", ([127, 0, 0, 1], SERVER.port()).into()).await.port();
        let mut control = PgConnection::connect(&SERVER.url()).await.unwrap();
        let create = AssertSqlSafe(format!("CREATE TABLE {table} (body text)"));
        query(create).execute(&mut control).await.unwrap();
        Bench { desk, port, table, control }
    }

    async fn connect(&self) -> PgConnection {
        let options: PgConnectOptions = SERVER.url().parse().unwrap();
        PgConnection::connect_with(&options.port(self.port)).await.unwrap()
    }

    /// Puts the cut on the proxy, or puts it on again.
    async fn cut(&self, attributes: Value) {
        let body = json!({ "name": "cut", "type": "postgres_cut", "attributes": attributes });
        let (status, answer) = self.desk.ask("POST", "/proxies/db/toxics", &body).await;
        if status == 409 {
            let body = json!({ "attributes": attributes });
            self.desk.expect(200, "POST", "/proxies/db/toxics/cut", body).await;
        } else {
            assert_eq!((status, &answer["attributes"]["fired"]), (200, &json!(false)), "{answer}");
        }
    }

    /// What the cut tells of itself.
    async fn told(&self) -> Value {
        let shown = self.desk.expect(200, "GET", "/proxies/db/toxics/cut", Value::Null).await;
        shown["attributes"].clone()
    }

    async fn write(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let insert = AssertSqlSafe(format!("INSERT INTO {} VALUES ('row')", self.table));
        let mut transaction = connection.begin().await?;
        query(insert).execute(&mut *transaction).await?;
        transaction.commit().await
    }

    async fn rows(&mut self) -> i64 {
        let count = AssertSqlSafe(format!("SELECT count(*) FROM {}", self.table));
        query_scalar(count).fetch_one(&mut self.control).await.unwrap()
    }

    /// Waits until no connection but the control's is left.
    async fn settle(&mut self, backend: &Value) {
        let started = Instant::now();
        let pid = i32::try_from(backend.as_i64().unwrap()).unwrap();
        let count = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";
        while query_scalar::<_, i64>(count).bind(pid).fetch_one(&mut self.control).await.unwrap()
            > 0
        {
            assert!(started.elapsed() < LIMIT, "the backend does not end");
        }
    }

    /// Waits until the cut has fired.
    async fn fired(&self) -> Value {
        let started = Instant::now();
        loop {
            let told = self.told().await;
            if told["fired"] == true {
                return told;
            }
            assert!(started.elapsed() < LIMIT, "it does not fire");
        }
    }
}

#[tokio::test]
async fn a_commit_is_cut_before_or_after_it_is_delivered_and_the_receipt_says_which() {
    let mut bench = Bench::new("commits").await;
    for (place, commit, done, rows) in [
        ("commit_sent", "not_delivered", json!(null), 0),
        ("commit_delivered", "delivered", json!("COMMIT"), 1),
        ("mid_reply", "delivered", json!("COMMIT"), 1),
    ] {
        for kind in ["reset", "close", "truncate"] {
            let before = bench.rows().await;
            bench.cut(json!({ "place": place, "kind": kind })).await;
            let mut connection = bench.connect().await;
            bench.write(&mut connection).await.unwrap_err();
            let told = bench.told().await;
            assert_eq!((&told["place"], &told["kind"]), (&json!(place), &json!(kind)));
            let receipt = &told["receipt"];
            assert_eq!((&told["fired"], &receipt["commit"]), (&json!(true), &json!(commit)));
            assert_eq!((&receipt["done"], &receipt["statements"]), (&done, &json!(1)), "{receipt}");
            bench.settle(&receipt["backend"]).await;
            assert_eq!(bench.rows().await - before, rows, "{place} {kind}");
            // It has fired, and the next one passes.
            bench.write(&mut bench.connect().await).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_statement_is_cut_by_its_number() {
    let mut bench = Bench::new("statements").await;
    for place in ["before_begin", "before_statement", "after_statement"] {
        bench.cut(json!({ "place": place, "statement": 1, "kind": "close" })).await;
        bench.write(&mut bench.connect().await).await.unwrap_err();
        let receipt = bench.told().await["receipt"].clone();
        assert_eq!(receipt["commit"], "not_sent", "{place}");
        bench.settle(&receipt["backend"]).await;
    }
    assert_eq!(bench.rows().await, 0);
    let body = json!({ "attributes": { "place": "after_statement", "statement": 0 } });
    bench.desk.expect(400, "POST", "/proxies/db/toxics/cut", body).await;
    let second = json!({ "name": "second", "type": "postgres_cut" });
    bench.desk.expect(409, "POST", "/proxies/db/toxics", second).await;
}

#[tokio::test]
async fn what_is_held_is_let_go_when_the_toxic_is_deleted() {
    let mut bench = Bench::new("held").await;
    bench.cut(json!({ "place": "commit_sent", "kind": "delay" })).await;
    let mut connection = bench.connect().await;
    let (written, ()) = tokio::join!(timeout(LIMIT, bench.write(&mut connection)), async {
        assert_eq!(bench.fired().await["receipt"]["commit"], "held");
        bench.desk.expect(204, "DELETE", "/proxies/db/toxics/cut", Value::Null).await;
    });
    written.expect("it is let go").unwrap();
    assert_eq!(bench.rows().await, 1);
}

#[tokio::test]
async fn a_black_hole_is_closed_when_the_toxic_is_deleted() {
    let mut bench = Bench::new("swallowed").await;
    bench.cut(json!({ "place": "commit_delivered", "kind": "black_hole" })).await;
    let mut connection = bench.connect().await;
    let (written, ()) = tokio::join!(timeout(LIMIT, bench.write(&mut connection)), async {
        assert_eq!(bench.fired().await["receipt"]["commit"], "delivered");
        bench.desk.expect(204, "DELETE", "/proxies/db/toxics/cut", Value::Null).await;
    });
    written.expect("it is closed").unwrap_err();
    assert_eq!(bench.rows().await, 1);
}

#[tokio::test]
async fn the_standard_toxics_show_on_a_connection_to_postgresql() {
    let bench = Bench::new("standard").await;
    let mut connection = bench.connect().await;
    bench.desk.toxic("db", "latency", "downstream", json!({ "latency": 100 })).await;
    let started = Instant::now();
    query("SELECT 1").execute(&mut connection).await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(100));
    bench.desk.toxic("db", "slicer", "upstream", json!({ "average_size": 1 })).await;
    bench.write(&mut connection).await.unwrap();
    bench.desk.toxic("db", "reset_peer", "upstream", json!({})).await;
    query("SELECT 1").execute(&mut connection).await.unwrap_err();
    bench.desk.expect(204, "POST", "/reset", Value::Null).await;
    bench.write(&mut bench.connect().await).await.unwrap();
}

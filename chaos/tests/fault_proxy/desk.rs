//! What the tests share: the server, lines to it, and looking past them.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{AssertSqlSafe, Connection, query, query_scalar};
use stagefault_chaos::proxy::{Line, Upstream};
use stagefault_chaos::servers::{Listen, Options, PostgresServer};

/// How long a condition may take to come true, on a slow machine.
pub const LIMIT: Duration = Duration::from_secs(30);

static SERVER: LazyLock<PostgresServer> = LazyLock::new(|| {
    PostgresServer::start(Options { listen: Listen::Loopback, ..Options::default() }).unwrap()
});

/// A table of one's own, and connections to its server.
pub struct Desk {
    table: String,
    control: PgConnection,
}

/// By its port.
pub fn port() -> Upstream {
    Upstream::Tcp(([127, 0, 0, 1], SERVER.port()).into())
}

/// By its socket.
pub fn socket() -> Upstream {
    Upstream::Unix(SERVER.socket_dir().join(format!(".s.PGSQL.{}", SERVER.port())))
}

/// Connects to the server through a line.
pub async fn connect(line: &Line) -> PgConnection {
    connect_to(&SERVER, line).await.unwrap()
}

/// The same to another server. It has no TLS, and refuses it when asked.
pub async fn connect_to(server: &PostgresServer, line: &Line) -> sqlx::Result<PgConnection> {
    let options: PgConnectOptions = server.url().parse()?;
    let options = options.port(line.port()).ssl_mode(PgSslMode::Prefer);
    PgConnection::connect_with(&options).await
}

/// Asks until the answer is yes.
pub async fn becomes(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < LIMIT, "{what}");
        tokio::task::yield_now().await;
    }
}

impl Desk {
    pub async fn new(table: &str) -> Self {
        let mut control = PgConnection::connect(&SERVER.url()).await.unwrap();
        let create = format!("CREATE TABLE {table} (body text)");
        query(AssertSqlSafe(create)).execute(&mut control).await.unwrap();
        Desk { table: table.to_owned(), control }
    }

    /// A statement that writes a row; it takes the body.
    pub fn insert(&self) -> AssertSqlSafe<String> {
        AssertSqlSafe(format!("INSERT INTO {} VALUES ($1)", self.table))
    }

    /// A whole statement that writes a row, for the simple protocol.
    pub fn insert_of(&self, body: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(format!("INSERT INTO {} VALUES ('{body}')", self.table))
    }

    /// Removes all rows.
    pub async fn clear(&mut self) {
        let delete = AssertSqlSafe(format!("DELETE FROM {}", self.table));
        query(delete).execute(&mut self.control).await.unwrap();
    }

    /// How many rows there are.
    pub async fn rows(&mut self) -> i64 {
        let count = AssertSqlSafe(format!("SELECT count(*) FROM {}", self.table));
        query_scalar(count).fetch_one(&mut self.control).await.unwrap()
    }

    /// Whether the server still has a backend of this process id.
    pub async fn is_served_by(&mut self, backend: i32) -> bool {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";
        query_scalar::<_, i64>(count).bind(backend).fetch_one(&mut self.control).await.unwrap() > 0
    }

    /// Waits until the server has ended a backend, so that nothing of it is still to come.
    pub async fn is_gone(&mut self, backend: i32) {
        becomes("the backend ends", async || !self.is_served_by(backend).await).await;
    }
}

//! A server answers those who know its password, and comes again with its data.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use sqlx::{AssertSqlSafe, Connection, PgConnection, query, query_scalar};
use stagefault_chaos::servers::{Durability, Listen, Options, PostgresServer, ServerError};

use crate::traces::{Traces, arguments, processes_of};

fn start(listen: Listen) -> PostgresServer {
    PostgresServer::start(Options { listen, ..Options::default() }).unwrap()
}

async fn connect(server: &PostgresServer) -> PgConnection {
    PgConnection::connect(&server.url()).await.unwrap()
}

async fn show(connection: &mut PgConnection, setting: &str) -> String {
    let show = AssertSqlSafe(format!("SHOW {setting}"));
    query_scalar(show).fetch_one(connection).await.unwrap()
}

/// Whether the server refuses the URL for its password.
async fn is_refused(url: &str) -> bool {
    match PgConnection::connect(url).await.err() {
        Some(sqlx::Error::Database(error)) => error.code().as_deref() == Some("28P01"),
        other => panic!("neither let in nor refused: {other:?}"),
    }
}

#[tokio::test]
async fn it_answers_by_its_socket_and_opens_no_port() {
    let server = start(Listen::Socket);
    let mut connection = connect(&server).await;
    assert_eq!(show(&mut connection, "listen_addresses").await, "");
    assert_eq!(show(&mut connection, "fsync").await, "off");
}

#[tokio::test]
async fn it_answers_on_loopback_if_asked_and_nowhere_else() {
    let server = start(Listen::Loopback);
    assert!(server.url().contains(&format!("@127.0.0.1:{}/", server.port())));
    let mut connection = connect(&server).await;
    assert_eq!(show(&mut connection, "listen_addresses").await, "127.0.0.1");
    assert!(server.socket_dir().join(format!(".s.PGSQL.{}", server.port())).exists());
}

#[tokio::test]
async fn it_lets_nobody_in_without_the_password() {
    for listen in [Listen::Socket, Listen::Loopback] {
        let server = start(listen);
        assert!(is_refused(&server.redacted_url()).await);
    }
}

#[tokio::test]
async fn it_shows_its_password_to_nobody() {
    let server = start(Listen::Loopback);
    // So that the log has something to tell of.
    assert!(is_refused(&server.redacted_url()).await);
    connect(&server).await;
    let url = server.url();
    let (_, password) = url.split('@').next().unwrap().rsplit_once(':').unwrap();
    let log = fs::read_to_string(server.socket_dir().join("log")).unwrap();
    assert!(log.contains("password authentication failed"), "{log}");
    let mut shown = vec![log, format!("{server:?}"), server.redacted_url()];
    for process in processes_of(server.socket_dir()) {
        let environment = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        shown.push(String::from_utf8_lossy(&environment).into_owned());
        shown.push(arguments(process.pid));
    }
    assert!(shown.iter().all(|text| !text.contains(password)));
}

#[test]
fn its_folder_is_closed_to_other_users() {
    let server = start(Listen::Socket);
    for folder in [server.socket_dir().to_owned(), server.socket_dir().join("data")] {
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[tokio::test]
async fn settings_of_ones_own_win() {
    let settings = vec![("fsync".to_owned(), "on".to_owned())];
    let server = PostgresServer::start(Options { settings, ..Options::default() }).unwrap();
    assert_eq!(show(&mut connect(&server).await, "fsync").await, "on");
}

#[test]
fn several_serve_at_once() {
    let start = || thread::spawn(|| start(Listen::Loopback));
    let starting: Vec<_> = (0..4).map(|_| start()).collect();
    let servers: Vec<_> = starting.into_iter().map(|server| server.join().unwrap()).collect();
    let ports: BTreeSet<_> = servers.iter().map(PostgresServer::port).collect();
    assert_eq!(ports.len(), servers.len());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for server in &servers {
        runtime.block_on(async { connect(server).await.ping().await.unwrap() });
    }
    let traces: Vec<_> =
        servers.iter().map(|server| Traces::of_running(server.socket_dir())).collect();
    drop(servers);
    traces.iter().for_each(Traces::assert_gone);
}

#[tokio::test]
async fn committed_data_is_there_after_a_kill() {
    for durability in [Durability::SurvivesKill, Durability::Full] {
        let options = Options { durability, listen: Listen::Loopback, ..Options::default() };
        let mut server = PostgresServer::start(options).unwrap();
        let url = server.url();
        query("CREATE TABLE kept ()").execute(&mut connect(&server).await).await.unwrap();
        for round in 1..=3 {
            let mut writer = connect(&server).await;
            query("INSERT INTO kept DEFAULT VALUES").execute(&mut writer).await.unwrap();
            server.kill().unwrap();
            assert_eq!(server.pid(), None);
            server.start_again().unwrap();
            assert_eq!(server.url(), url);
            let count = query_scalar("SELECT count(*) FROM kept");
            let kept: i64 = count.fetch_one(&mut connect(&server).await).await.unwrap();
            assert_eq!(kept, round, "{durability:?}");
        }
    }
}

#[tokio::test]
async fn it_comes_again_after_each_kind_of_stop() {
    let mut server = start(Listen::Socket);
    query("CREATE TABLE kept ()").execute(&mut connect(&server).await).await.unwrap();
    for stop in [PostgresServer::stop, PostgresServer::stop_immediate] {
        // An open connection does not hold it up.
        let _connection = connect(&server).await;
        stop(&mut server).unwrap();
        stop(&mut server).unwrap();
        server.start_again().unwrap();
        query("SELECT FROM kept").execute(&mut connect(&server).await).await.unwrap();
    }
    let running = server.start_again().unwrap_err();
    assert!(matches!(running, ServerError::Running(pid) if Some(pid) == server.pid()));
}

#[tokio::test]
async fn a_kill_ends_even_a_session_that_does_not_notice() {
    let mut server = start(Listen::Socket);
    let mut busy = connect(&server).await;
    let pid: i32 = query_scalar("SELECT pg_backend_pid()").fetch_one(&mut busy).await.unwrap();
    let endless =
        tokio::spawn(
            async move { query("DO 'BEGIN LOOP END LOOP; END'").execute(&mut busy).await },
        );
    let mut other = connect(&server).await;
    let is_busy = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND query LIKE 'DO%'";
    while query_scalar::<_, i64>(is_busy).bind(pid).fetch_one(&mut other).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    let traces = Traces::of_running(server.socket_dir());
    server.kill().unwrap();
    endless.await.unwrap().unwrap_err();
    server.start_again().unwrap();
    connect(&server).await;
    drop(server);
    traces.assert_gone();
}

/// So that one server can be shared by all tests of a program, in a `static`.
#[test]
fn it_can_be_shared_between_threads() {
    fn is_shareable<T: Send + Sync>() {}
    is_shareable::<PostgresServer>();
}

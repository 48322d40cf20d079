//! A connection that is cut by hand, in the middle of an operation.

use std::time::Duration;

use sqlx::{Connection, query};
use stagefault_chaos::proxy::{Commit, Kind, Line, Place, Upstream, WireFault};
use stagefault_chaos::servers::{Listen, Options, PostgresServer};

use crate::desk::{Desk, connect, connect_to, port};

#[tokio::test]
async fn nothing_passes_after_a_cut() {
    let mut desk = Desk::new("cut").await;
    let line = Line::open(port()).await.unwrap();
    let delay = Kind::Delay(Some(Duration::from_millis(1)));
    let kinds = [Kind::Reset, Kind::Close, Kind::BlackHole, Kind::Truncate, delay, Kind::Trickle];
    for kind in kinds {
        let before = desk.rows().await;
        let mut connection = connect(&line).await;
        let backend = line.backend().unwrap();
        line.disarm();
        let mut transaction = connection.begin().await.unwrap();
        query(desk.insert()).bind("row").execute(&mut *transaction).await.unwrap();
        line.cut_now(kind);
        let committed = tokio::select! {
            committed = transaction.commit() => committed.is_ok(),
            () = async {
                if kind != Kind::BlackHole {
                    std::future::pending::<()>().await;
                }
                // The COMMIT is swallowed while this asks.
                for _ in 0..10 {
                    assert!(desk.is_served_by(backend).await);
                }
            } => false,
        };
        drop(connection);
        desk.is_gone(backend).await;
        let receipt = line.disarm().unwrap();
        assert_eq!(receipt.fault, WireFault { place: Place::Now, kind });
        assert_eq!((committed, receipt.statements), (kind.delivers(), 1), "{kind:?}");
        assert_eq!(receipt.commit == Commit::Delivered, kind.delivers(), "{kind:?}");
        assert_eq!(desk.rows().await - before, i64::from(kind.delivers()), "{kind:?}");
    }
}

#[tokio::test]
async fn while_the_server_is_down_connections_are_reset_and_then_they_work_again() {
    let options = Options { listen: Listen::Loopback, ..Options::default() };
    let mut server = PostgresServer::start(options).unwrap();
    let line = Line::open(Upstream::Tcp(([127, 0, 0, 1], server.port()).into())).await.unwrap();
    let mut connection = connect_to(&server, &line).await.unwrap();
    server.kill().unwrap();
    query("SELECT").execute(&mut connection).await.unwrap_err();
    assert!(connect_to(&server, &line).await.is_err());
    server.start_again().unwrap();
    let mut connection = connect_to(&server, &line).await.unwrap();
    query("SELECT").execute(&mut connection).await.unwrap();
}

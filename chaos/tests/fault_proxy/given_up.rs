//! What is still on its way on a connection that was given up has nothing to do with the
//! operation after it.
//!
//! Everything runs on one thread, so a line reads nothing before the test waits.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use sqlx::{PgConnection, query, raw_sql};
use stagefault_chaos::proxy::{Commit, Kind, Line, Place, WireFault};
use tokio::time::timeout;

use crate::desk::{Desk, LIMIT, becomes, connect, port};

/// Sends a write on a connection, and gives the connection up before the line has read it.
async fn give_up_at_a_write(desk: &Desk, mut connection: PgConnection) {
    let mut write = pin!(raw_sql(desk.insert_of("late")).execute(&mut connection));
    let is_pending = poll_fn(|context| Poll::Ready(write.as_mut().poll(context).is_pending()));
    assert!(is_pending.await);
}

#[tokio::test]
async fn a_fault_waits_for_its_own_operation() {
    let places = [Place::CommitSent, Place::CommitDelivered, Place::AfterStatement(1), Place::Now];
    for place in places {
        let mut desk = Desk::new(&format!("waits_{}", place_name(place))).await;
        let line = Line::open(port()).await.unwrap();
        let (old, mut new) = (connect(&line).await, connect(&line).await);
        let backend = line.backend();
        give_up_at_a_write(&desk, old).await;
        line.begin(backend, Some(WireFault { place, kind: Kind::Reset }));
        becomes("the late write is carried out", async || desk.rows().await == 1).await;
        raw_sql(desk.insert_of("row")).execute(&mut new).await.unwrap_err();
        let receipt = line.disarm().unwrap();
        assert_eq!((receipt.backend, receipt.statements), (backend, 1), "{place:?}");
        let is_delivered = matches!(place, Place::CommitDelivered | Place::AfterStatement(_));
        let commit = if is_delivered { Commit::Delivered } else { Commit::NotDelivered };
        assert_eq!(receipt.commit, commit, "{place:?}");
        assert_eq!(desk.rows().await, 1 + i64::from(is_delivered), "{place:?}");
    }
}

#[tokio::test]
async fn an_operation_that_connects_anew_meets_its_fault_there() {
    let mut desk = Desk::new("connects_anew").await;
    let line = Line::open(port()).await.unwrap();
    give_up_at_a_write(&desk, connect(&line).await).await;
    line.begin(None, Some(WireFault { place: Place::CommitSent, kind: Kind::Close }));
    assert_eq!(line.backend(), None);
    let mut connection = connect(&line).await;
    becomes("the late write is carried out", async || desk.rows().await == 1).await;
    query(desk.insert()).bind("row").execute(&mut connection).await.unwrap_err();
    assert_eq!(line.disarm().unwrap().commit, Commit::NotDelivered);
    assert_eq!(desk.rows().await, 1);
}

#[tokio::test]
async fn only_the_connection_that_is_used_is_cut() {
    let desk = Desk::new("only_what_is_used").await;
    let line = Line::open(port()).await.unwrap();
    give_up_at_a_write(&desk, connect(&line).await).await;
    line.begin(None, None);
    line.cut_now(Kind::Reset);
    assert_eq!(line.disarm(), None);
}

#[tokio::test]
async fn a_commit_that_is_held_is_never_delivered_once_the_line_is_healed() {
    let mut desk = Desk::new("held_and_healed").await;
    let line = Line::open(port()).await.unwrap();
    let mut connection = connect(&line).await;
    line.arm(WireFault { place: Place::CommitSent, kind: Kind::Delay(None) });
    tokio::select! {
        answer = raw_sql(desk.insert_of("row")).execute(&mut connection) => panic!("{answer:?}"),
        _ = line.fired() => {}
    }
    line.heal();
    // What is done to the connection before its task has noticed changes nothing any more.
    line.arm(WireFault { place: Place::CommitSent, kind: Kind::Delay(None) });
    line.cut_now(Kind::Delay(None));
    line.go_on().await;
    let answer = timeout(LIMIT, raw_sql("SELECT 1").execute(&mut connection)).await;
    answer.expect("the connection ends").unwrap_err();
    assert_eq!(desk.rows().await, 0);
}

fn place_name(place: Place) -> &'static str {
    match place {
        Place::CommitSent => "sent",
        Place::CommitDelivered => "delivered",
        Place::AfterStatement(_) => "statement",
        _ => "now",
    }
}

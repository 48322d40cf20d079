//! What is not cut passes unharmed, and a line leaves nothing behind.

use sqlx::{Connection, query, query_scalar};
use stagefault_chaos::proxy::{Kind, Line, Place, WireFault};

use crate::desk::{Desk, connect, port, socket};

#[tokio::test]
async fn a_line_knows_the_backend_of_its_connection() {
    for upstream in [port(), socket()] {
        let line = Line::open(upstream).await.unwrap();
        assert_eq!(line.backend(), None);
        for _ in 0..2 {
            let mut connection = connect(&line).await;
            let asked: i32 =
                query_scalar("SELECT pg_backend_pid()").fetch_one(&mut connection).await.unwrap();
            assert_eq!(line.backend(), Some(asked));
        }
    }
}

#[tokio::test]
async fn a_body_of_a_mebibyte_passes_unharmed_there_and_back() {
    let desk = Desk::new("large").await;
    let body: String =
        (0..1 << 20).map(|number: u32| char::from(b'a' + (number % 23) as u8)).collect();
    let line = Line::open(port()).await.unwrap();
    let mut connection = connect(&line).await;
    let armed = WireFault { place: Place::BeforeBegin, kind: Kind::Reset };
    for fault in [None, Some(armed)] {
        if let Some(fault) = fault {
            line.arm(fault);
        }
        query(desk.insert()).bind(&body).execute(&mut connection).await.unwrap();
        let back: String = query_scalar("SELECT body FROM large LIMIT 1")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert!(back == body);
        assert_eq!(line.disarm(), None);
    }
}

#[tokio::test]
async fn a_whole_transaction_passes_byte_by_byte() {
    let mut desk = Desk::new("trickled").await;
    let line = Line::open(port()).await.unwrap();
    let mut connection = connect(&line).await;
    line.arm(WireFault { place: Place::BeforeBegin, kind: Kind::Trickle });
    let mut transaction = connection.begin().await.unwrap();
    for body in ["a", "b"] {
        query(desk.insert()).bind(body).execute(&mut *transaction).await.unwrap();
    }
    transaction.commit().await.unwrap();
    assert_eq!(desk.rows().await, 2);
    let receipt = line.disarm().unwrap();
    assert_eq!((receipt.statements, receipt.answer.is_some()), (0, true));
}

#[tokio::test]
async fn a_line_that_is_dropped_leaves_no_connection() {
    let mut desk = Desk::new("dropped").await;
    let line = Line::open(port()).await.unwrap();
    let (first, second) = (connect(&line).await, line.backend().unwrap());
    let (other, third) = (connect(&line).await, line.backend().unwrap());
    assert!(desk.is_served_by(second).await && desk.is_served_by(third).await);
    drop(line);
    desk.is_gone(second).await;
    desk.is_gone(third).await;
    drop((first, other));
}

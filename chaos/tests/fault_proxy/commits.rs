//! A commit that is cut before it is delivered is never applied, one that is cut after it is
//! applied, and the receipt says which, whatever the cut is.

use std::time::Duration;

use sqlx::{Connection, PgConnection, query, raw_sql};
use stagefault_chaos::proxy::{Answer, Commit, Kind, Line, Place, Upstream, WireFault};

use crate::desk::{Desk, connect, port, socket};

const CUTS: [Kind; 4] = [Kind::Reset, Kind::Close, Kind::BlackHole, Kind::Truncate];
const DETOURS: [Kind; 3] =
    [Kind::Delay(None), Kind::Delay(Some(Duration::from_millis(1))), Kind::Trickle];

/// How a row is written.
#[derive(Clone, Copy, Debug)]
enum Write {
    /// In a transaction, which COMMIT ends.
    Transaction,
    /// By a statement of its own, with the server's parameters.
    Prepared,
    /// The same as a text.
    Text,
}

const WRITES: [Write; 3] = [Write::Transaction, Write::Prepared, Write::Text];

async fn write(desk: &Desk, connection: &mut PgConnection, write: Write) -> sqlx::Result<()> {
    match write {
        Write::Transaction => {
            let mut transaction = connection.begin().await?;
            query(desk.insert()).bind("row").execute(&mut *transaction).await?;
            transaction.commit().await
        }
        Write::Prepared => query(desk.insert()).bind("row").execute(connection).await.map(drop),
        Write::Text => {
            let sql = desk.insert().0.replace("$1", "'row'");
            raw_sql(sqlx::AssertSqlSafe(sql)).execute(connection).await.map(drop)
        }
    }
}

/// Writes a row with a fault, and holds the receipt against what was done.
async fn torment(desk: &mut Desk, line: &Line, fault: WireFault, how: Write) {
    let what = format!("{fault:?} {how:?}");
    let before = desk.rows().await;
    let mut connection = connect(line).await;
    let backend = line.backend();
    line.arm(fault);
    let written = tokio::select! {
        written = write(desk, &mut connection, how) => written.map_err(|error| error.to_string()),
        // A black hole has no other end than that its client has had enough.
        () = async {
            line.fired().await;
            if fault.kind != Kind::BlackHole {
                std::future::pending::<()>().await;
            }
        } => Err("given up".to_owned()),
    };
    drop(connection);
    let receipt = line.disarm().unwrap_or_else(|| panic!("{what} did not fire: {written:?}"));
    desk.is_gone(backend.unwrap()).await;
    let applied = desk.rows().await - before;
    let is_delivered = fault.place != Place::CommitSent || fault.kind.delivers();
    assert_eq!(applied, i64::from(is_delivered), "{what}");
    assert_eq!(written.is_ok(), fault.kind.delivers(), "{what}: {written:?}");
    let commit = if is_delivered { Commit::Delivered } else { Commit::NotDelivered };
    assert_eq!((receipt.fault, receipt.backend), (fault, backend), "{what}");
    assert_eq!((receipt.commit, receipt.statements), (commit, 1), "{what}");
    let tag = if matches!(how, Write::Transaction) { "COMMIT" } else { "INSERT 0 1" };
    let answer = is_delivered.then(|| Answer::Done(tag.to_owned()));
    assert_eq!(receipt.answer, answer, "{what}");
}

async fn torment_all(table: &str, upstream: Upstream, place: Place) {
    let mut desk = Desk::new(table).await;
    let line = Line::open(upstream).await.unwrap();
    for kind in CUTS.into_iter().chain(DETOURS).filter(|kind| *kind != Kind::Delay(None)) {
        for how in WRITES {
            torment(&mut desk, &line, WireFault { place, kind }, how).await;
            // And the next one is as if nothing had been.
            let mut connection = connect(&line).await;
            write(&desk, &mut connection, how).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_commit_that_is_sent_and_not_delivered_is_never_applied() {
    torment_all("sent", port(), Place::CommitSent).await;
    torment_all("sent_to_socket", socket(), Place::CommitSent).await;
}

#[tokio::test]
async fn a_commit_that_is_delivered_is_applied_though_its_answer_is_lost() {
    torment_all("delivered", port(), Place::CommitDelivered).await;
    torment_all("delivered_to_socket", socket(), Place::CommitDelivered).await;
}

#[tokio::test]
async fn a_commit_of_which_half_the_answer_comes_is_applied() {
    torment_all("half", port(), Place::MidReply).await;
    torment_all("half_of_socket", socket(), Place::MidReply).await;
}

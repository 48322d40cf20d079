//! Faults before the commit is sent: nothing is applied, and they meet the statement that
//! they are addressed to.

use sqlx::{AssertSqlSafe, Connection, PgConnection, query, raw_sql};
use stagefault_chaos::proxy::{Answer, Commit, Kind, Line, Place, WireFault};

use crate::desk::{Desk, connect, port, socket};

/// A transaction of two writes, with a setting and a read between them.
async fn write_twice(desk: &Desk, connection: &mut PgConnection) -> sqlx::Result<()> {
    let mut transaction = connection.begin().await?;
    raw_sql("SET LOCAL lock_timeout = 1000").execute(&mut *transaction).await?;
    query(desk.insert()).bind("a").execute(&mut *transaction).await?;
    query(desk.insert()).bind("b").execute(&mut *transaction).await?;
    transaction.commit().await
}

#[tokio::test]
async fn what_is_cut_before_the_commit_is_not_applied() {
    let mut desk = Desk::new("early").await;
    let places = [
        (Place::BeforeBegin, 0, None),
        (Place::BeforeStatement(1), 1, None),
        (Place::AfterStatement(1), 1, Some("INSERT 0 1")),
        (Place::BeforeStatement(2), 2, None),
        (Place::AfterStatement(2), 2, Some("INSERT 0 1")),
    ];
    for upstream in [port(), socket()] {
        let line = Line::open(upstream).await.unwrap();
        for (place, statements, tag) in places {
            for kind in [Kind::Reset, Kind::Close, Kind::Truncate] {
                let fault = WireFault { place, kind };
                let mut connection = connect(&line).await;
                let backend = line.backend().unwrap();
                line.arm(fault);
                write_twice(&desk, &mut connection).await.unwrap_err();
                let receipt = line.disarm().unwrap_or_else(|| panic!("{fault:?} did not fire"));
                assert_eq!((receipt.fault, receipt.statements), (fault, statements));
                assert_eq!(receipt.commit, Commit::NotSent, "{fault:?}");
                let answer = tag.map(|tag| Answer::Done(tag.to_owned()));
                assert_eq!(receipt.answer, answer, "{fault:?}");
                desk.is_gone(backend).await;
                assert_eq!(desk.rows().await, 0, "{fault:?}");
            }
        }
        write_twice(&desk, &mut connect(&line).await).await.unwrap();
        desk.clear().await;
    }
}

#[tokio::test]
async fn a_statement_that_only_locks_is_no_commit_and_one_that_writes_within_is() {
    let mut desk = Desk::new("words").await;
    let line = Line::open(port()).await.unwrap();
    let mut connection = connect(&line).await;
    let fault = WireFault { place: Place::CommitSent, kind: Kind::Close };
    line.arm(fault);
    query("SELECT body FROM words FOR UPDATE").execute(&mut connection).await.unwrap();
    query("SELECT 'DELETE'").execute(&mut connection).await.unwrap();
    assert_eq!(line.disarm(), None);
    line.arm(fault);
    let within =
        "WITH new AS (INSERT INTO words VALUES ('row') RETURNING body) SELECT body FROM new";
    query(within).execute(&mut connection).await.unwrap_err();
    assert_eq!(line.disarm().unwrap().commit, Commit::NotDelivered);
    assert_eq!(desk.rows().await, 0);
}

#[tokio::test]
async fn a_caller_who_knows_says_which_statement_commits() {
    let mut desk = Desk::new("told").await;
    let function = "CREATE FUNCTION write_told() RETURNS void LANGUAGE sql
                    AS 'INSERT INTO told VALUES (1)'";
    let line = Line::open(port()).await.unwrap();
    let mut connection = connect(&line).await;
    query(function).execute(&mut connection).await.unwrap();
    let write = || query("SELECT write_told()");
    let fault = WireFault { place: Place::CommitSent, kind: Kind::Close };
    line.arm(fault);
    write().execute(&mut connection).await.unwrap();
    assert_eq!(line.disarm(), None);
    assert_eq!(desk.rows().await, 1);
    line.arm(fault);
    line.next_is_commit();
    write().execute(&mut connection).await.unwrap_err();
    assert_eq!(line.disarm().unwrap().commit, Commit::NotDelivered);
    assert_eq!(desk.rows().await, 1);
}

/// The server says so only in its answer, which the line passes on and tells.
#[tokio::test]
async fn a_commit_that_the_server_rolls_back_is_delivered_and_its_answer_says_so() {
    let mut desk = Desk::new("aborted").await;
    let line = Line::open(port()).await.unwrap();
    let mut connection = connect(&line).await;
    line.arm(WireFault { place: Place::CommitDelivered, kind: Kind::Close });
    let sql = AssertSqlSafe(desk.insert().0.replace("$1", "'row'"));
    raw_sql("BEGIN").execute(&mut connection).await.unwrap();
    raw_sql(sql).execute(&mut connection).await.unwrap();
    raw_sql("SELECT 1 / 0").execute(&mut connection).await.unwrap_err();
    raw_sql("COMMIT").execute(&mut connection).await.unwrap_err();
    let receipt = line.disarm().unwrap();
    assert_eq!(receipt.answer, Some(Answer::Done("ROLLBACK".to_owned())));
    assert_eq!((receipt.commit, desk.rows().await), (Commit::Delivered, 0));
}

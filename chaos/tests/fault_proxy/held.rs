//! What is held is delivered when it is told to go on, also when its client has long gone,
//! and never once it is given up.

use sqlx::{PgConnection, query};
use stagefault_chaos::proxy::{Commit, Kind, Line, Place, WireFault};

use crate::desk::{Desk, connect, port};

const HELD: WireFault = WireFault { place: Place::CommitSent, kind: Kind::Delay(None) };

/// Begins a write whose commit is held, and goes away.
async fn leave_a_commit(desk: &Desk, line: &Line) -> i32 {
    let mut connection = connect(line).await;
    let backend = line.backend().unwrap();
    line.arm(HELD);
    tokio::select! {
        written = query(desk.insert()).bind("late").execute(&mut connection) => {
            panic!("it is held: {written:?}")
        }
        receipt = line.fired() => assert_eq!(receipt.commit, Commit::Held),
    }
    drop(connection);
    assert_eq!(line.disarm().unwrap().commit, Commit::Held);
    backend
}

async fn write(desk: &Desk, connection: &mut PgConnection) {
    query(desk.insert()).bind("row").execute(connection).await.unwrap();
}

#[tokio::test]
async fn a_commit_that_is_held_takes_effect_after_its_client_has_gone() {
    let mut desk = Desk::new("late").await;
    let line = Line::open(port()).await.unwrap();
    let backend = leave_a_commit(&desk, &line).await;
    // Others come first: one passes, and one is cut.
    write(&desk, &mut connect(&line).await).await;
    line.arm(WireFault { place: Place::CommitSent, kind: Kind::Reset });
    let cut = query(desk.insert()).bind("cut").execute(&mut connect(&line).await).await;
    cut.unwrap_err();
    assert_eq!(desk.rows().await, 1);
    assert!(desk.is_served_by(backend).await);
    // What becomes of the late one is not mistaken for what became of the other.
    let late = line.go_on().await.unwrap();
    assert_eq!((late.fault, late.commit), (HELD, Commit::Delivered));
    assert_eq!(line.disarm().unwrap().commit, Commit::NotDelivered);
    desk.is_gone(backend).await;
    assert_eq!(desk.rows().await, 2);
}

#[tokio::test]
async fn a_commit_that_is_held_and_given_up_never_takes_effect() {
    let mut desk = Desk::new("given_up").await;
    let line = Line::open(port()).await.unwrap();
    let backend = leave_a_commit(&desk, &line).await;
    line.heal();
    desk.is_gone(backend).await;
    assert_eq!(line.go_on().await.unwrap().commit, Commit::NotDelivered);
    assert_eq!(desk.rows().await, 0);
    write(&desk, &mut connect(&line).await).await;
}

#[tokio::test]
async fn an_answer_that_is_held_comes_when_it_is_told_to() {
    let mut desk = Desk::new("held_answer").await;
    let line = Line::open(port()).await.unwrap();
    let mut connection = connect(&line).await;
    for place in [Place::CommitDelivered, Place::MidReply] {
        let before = desk.rows().await;
        line.arm(WireFault { place, kind: Kind::Delay(None) });
        let insert = query(desk.insert()).bind("row").execute(&mut connection);
        let (written, ()) = tokio::join!(insert, async {
            let receipt = line.fired().await;
            assert_eq!((receipt.commit, desk.rows().await), (Commit::Delivered, before + 1));
            line.go_on().await;
        });
        written.unwrap();
        line.disarm().unwrap();
    }
}

#[tokio::test]
async fn a_black_hole_ends_when_it_is_healed() {
    let mut desk = Desk::new("healed").await;
    let line = Line::open(port()).await.unwrap();
    let mut connection = connect(&line).await;
    let backend = line.backend().unwrap();
    line.arm(WireFault { place: Place::CommitDelivered, kind: Kind::BlackHole });
    let (written, ()) = tokio::join!(
        async { query(desk.insert()).bind("row").execute(&mut connection).await },
        async {
            line.fired().await;
            line.heal();
        }
    );
    written.unwrap_err();
    desk.is_gone(backend).await;
    assert_eq!(desk.rows().await, 1);
    write(&desk, &mut connect(&line).await).await;
}

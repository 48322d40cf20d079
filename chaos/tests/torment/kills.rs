//! A server that is killed under load keeps what was acknowledged, and one that does not
//! come back is told.
//!
//! `STAGEFAULT_KILLS` says how often it is killed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stagefault_chaos::torment::{MortalServer, TormentedStore};
use stagefault_models::{
    Backend, BackendError, Completion, FaultKind, Operation, Point, Reply, Value,
};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::desk::*;
use crate::requests::*;

const WRITERS: usize = 3;
/// How many messages are acknowledged before the server is killed, at the least.
const MESSAGES: u32 = 10;

fn kills() -> usize {
    let kills = std::env::var("STAGEFAULT_KILLS").ok();
    kills.map_or(4, |kills| kills.parse().expect("a number"))
}

/// What a writer was told of its messages.
#[derive(Default)]
struct Told {
    acknowledged: BTreeSet<String>,
    not_applied: BTreeSet<String>,
}

/// When the writers are at work, and how long.
struct Shift {
    /// A permit for each acknowledged message.
    under_way: Semaphore,
    enough: AtomicBool,
}

/// Appends messages of its own until there is enough.
async fn load(mut store: TormentedStore, writer: usize, shift: Arc<Shift>) -> Told {
    let mut told = Told::default();
    for number in 0.. {
        if shift.enough.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("{writer}-{number}");
        match execute(&mut store, append("s", vec![message(&id, Value::Null)])).await {
            Completion::Done(_) => {
                told.acknowledged.insert(id);
                shift.under_way.add_permits(1);
            }
            Completion::NotApplied(_) => {
                told.not_applied.insert(id);
            }
            Completion::Unknown(_) => {}
            Completion::Refused(refusal) => panic!("{refusal:?}"),
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_when_the_server_is_killed_under_load() {
    let server = MortalServer::start().unwrap();
    let mut backend = namespace_on(&server).await;
    let mut killer = handle(&backend).await;
    done(&mut killer, create("s")).await;
    let mut seen = 0;
    for kill in 0..kills() {
        let (under_way, enough) = (Semaphore::new(0), AtomicBool::new(false));
        let shift = Arc::new(Shift { under_way, enough });
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let name = kill * WRITERS + writer;
            writers.spawn(load(handle(&backend).await, name, shift.clone()));
        }
        let _ = shift.under_way.acquire_many(MESSAGES).await.unwrap();
        // In the middle of one's own work, be it before or after the commit.
        let point = [Point::BeforeCommit, Point::CommitSent, Point::CommitDelivered][kill % 3];
        let own = append("s", vec![message(&format!("own {kill}"), Value::Null)]);
        let (completion, receipt) = loop {
            // Another writer's success can send it round, which is not what is wanted here.
            let (completion, receipt) =
                under(&mut killer, point, FaultKind::ServerKill, &own).await;
            if receipt.is_some() {
                break (completion, receipt);
            }
        };
        shift.enough.store(true, Ordering::Relaxed);
        let told = writers.join_all().await;
        killer = settle(&mut backend).await;
        let kept = all_messages(&mut killer, &mut seen).await;
        for told in told {
            let lost: Vec<_> = told.acknowledged.difference(&kept).collect();
            assert!(lost.is_empty(), "lost in kill {kill}: {lost:?}");
            let risen: Vec<_> = told.not_applied.intersection(&kept).collect();
            assert!(risen.is_empty(), "not applied, and there after kill {kill}: {risen:?}");
        }
        let own_kept = kept.contains(&format!("own {kill}"));
        match (receipt.unwrap().applied, completion) {
            (Some(applied), Completion::Unknown(_)) => assert_eq!(own_kept, applied),
            (Some(false), Completion::NotApplied(_)) => assert!(!own_kept),
            other => panic!("{other:?}"),
        }
    }
    backend.remove().await.unwrap();
}

/// The ids of the messages from the place on that was seen last.
async fn all_messages(store: &mut TormentedStore, seen: &mut u64) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    loop {
        let page = Operation::ReadMessages { session: "s".into(), offset: *seen, limit: 1000 };
        let Reply::Page { messages, .. } = done(store, page).await else { panic!("no page") };
        if messages.is_empty() {
            return ids;
        }
        *seen += messages.len() as u64;
        ids.extend(messages.into_iter().map(|message| message.id.to_string()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_come_back_is_told_and_nothing_hangs() {
    let server = MortalServer::start().unwrap();
    let mut backend = namespace_on(&server).await;
    let (mut store, mut other) = (handle(&backend).await, handle(&backend).await);
    done(&mut store, create("s")).await;
    make_unstartable(&server);
    let touch = Operation::Touch { session: "s".into(), expires_at: None };
    let (completion, receipt) =
        under(&mut store, Point::BeforeCommit, FaultKind::ServerKill, &touch).await;
    assert!(receipt.is_some(), "{completion:?}");
    // Nobody waits for it in vain.
    for store in [&mut store, &mut other] {
        for _ in 0..3 {
            let completion = execute(store, touch.clone()).await;
            assert!(
                matches!(completion, Completion::NotApplied(_) | Completion::Unknown(_)),
                "{completion:?}"
            );
        }
    }
    let errors = [
        backend.settle().await.map(drop),
        backend.store().await.map(drop),
        backend.audit(&[]).await.map(drop),
        backend.reopen().await,
        backend.remove().await,
    ];
    for error in errors {
        let error = error.expect_err("the server is gone");
        let text = error.to_string();
        assert!(matches!(error, BackendError::Unreachable { .. }), "{text}");
        assert!(text.contains("did not come back after it was killed"), "{text}");
        assert!(text.contains(":***@127.0.0.1") && !text.contains('\n'), "{text}");
    }
}

/// So that it can never start again.
fn make_unstartable(server: &MortalServer) {
    let data = server.folder().join("data");
    std::fs::remove_file(data.join("global/pg_control")).unwrap();
}

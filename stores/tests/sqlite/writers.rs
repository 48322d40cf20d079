//! Several writers at once.

use stagefault_models::{Backend, Completion, Operation, Refusal, Reply, Value};
use stagefault_stores::sqlite::{SqliteBackend, SqliteStore};
use tokio::task::JoinSet;

use crate::support::*;

const WRITERS: usize = 6;

/// Runs `work` on as many handles at once, each on its own task.
async fn at_once<T: Send + 'static, F>(
    backend: &SqliteBackend,
    work: impl Fn(usize, SqliteStore) -> F,
) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for writer in 0..WRITERS {
        tasks.spawn(work(writer, handle(backend).await));
    }
    tasks.join_all().await
}

async fn both() -> (tempfile::TempDir, [SqliteBackend; 2]) {
    let (folder, file) = database().await;
    (folder, [file, SqliteBackend::in_memory().await.expect("memory")])
}

#[tokio::test]
async fn of_promotes_that_expect_the_same_version_one_succeeds_each_time() {
    let (_folder, backends) = both().await;
    for backend in backends {
        done(&mut handle(&backend).await, create("s")).await;
        let promoted = at_once(&backend, |writer, mut store| async move {
            let mut promoted = 0;
            for number in 0..20 {
                let version = snapshot(&mut store, "s").await.version;
                let step = format!("{writer}-{number}");
                let sent = vec![message(&step, Value::Null)];
                match execute(&mut store, promote("s", &step, version, vec![], sent)).await {
                    Completion::Done(Reply::Promoted { .. }) => promoted += 1,
                    Completion::Refused(Refusal::StaleState { .. }) => {}
                    other => panic!("neither promoted nor stale: {other:?}"),
                }
            }
            promoted
        })
        .await;
        let promoted: u64 = promoted.into_iter().sum();
        let snapshot = snapshot(&mut handle(&backend).await, "s").await;
        assert_eq!(snapshot.version, 1 + promoted);
        assert_eq!(snapshot.message_count, promoted);
        assert!(promoted >= 20, "somebody got through in each round: {promoted}");
    }
}

#[tokio::test]
async fn racing_appends_are_all_there_once() {
    let (_folder, backends) = both().await;
    for backend in backends {
        done(&mut handle(&backend).await, create("s")).await;
        at_once(&backend, |writer, mut store| async move {
            for number in 0..20 {
                let shared = message(&format!("all-{number}"), number);
                let own = message(&format!("{writer}-{number}"), number);
                done(&mut store, append("s", vec![shared, own])).await;
            }
        })
        .await;
        let mut store = handle(&backend).await;
        assert_eq!(messages(&mut store, "s").await.len(), 20 * (WRITERS + 1));
        let audit = backend.audit(&["s".into()]).await.expect("an audit");
        let positions: Vec<u64> = audit[&"s".into()].messages.iter().map(|(at, _)| *at).collect();
        assert_eq!(positions, (0..20 * (WRITERS as u64 + 1)).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn of_consumers_of_one_interrupt_exactly_one_takes_it() {
    let (_folder, backends) = both().await;
    for backend in backends {
        let mut store = handle(&backend).await;
        done(&mut store, create("s")).await;
        done(&mut store, Operation::RequestInterrupt { session: "s".into() }).await;
        let taken = at_once(&backend, |_, mut store| async move {
            done(&mut store, Operation::ConsumeInterrupt { session: "s".into() }).await
        })
        .await;
        let taken = taken.iter().filter(|reply| **reply == Reply::Interrupt { taken: true });
        assert_eq!(taken.count(), 1);
    }
}

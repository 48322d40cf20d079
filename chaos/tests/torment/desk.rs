//! What the tests share: the server that none of them kills, and operations with an effect
//! that can be seen.

use std::sync::{Arc, LazyLock};

use stagefault_chaos::torment::{MortalServer, Tormented, TormentedNamespaces, TormentedStore};
use stagefault_models::audit::Audit;
use stagefault_models::{
    Backend, Completion, Fault, FaultKind, Namespaces, Operation, OperationKind, Point, Receipt,
    Scope, Status, Store, Value,
};
use stagefault_stores::flaws::Flaws;

use crate::requests::*;

static SERVER: LazyLock<Arc<MortalServer>> = LazyLock::new(|| MortalServer::start().unwrap());

/// A namespace on the server that all share and nobody kills.
pub async fn namespace() -> Tormented {
    namespace_on(&SERVER).await
}

pub async fn namespace_on(server: &Arc<MortalServer>) -> Tormented {
    let namespaces = TormentedNamespaces::on_own(server.clone(), Flaws::none()).unwrap();
    namespaces.fresh().await.unwrap()
}

/// The URL of the server that all share.
pub fn url() -> &'static str {
    SERVER.url()
}

/// Executes an operation under a fault.
pub async fn under(
    store: &mut TormentedStore,
    point: Point,
    kind: FaultKind,
    operation: &Operation,
) -> (Completion, Option<Receipt>) {
    store.plan(Some(Fault::At { point, kind }));
    let completion = store.execute(operation, &Scope::default()).await;
    (completion, store.receipt())
}

/// Sees to it that an operation of the handle is done, at the latest the third: one may find
/// the connection broken, and one nobody there.
pub async fn gets_on(store: &mut TormentedStore, session: &str) {
    let touch = Operation::Touch { session: session.into(), expires_at: None };
    let mut completions = Vec::new();
    for _ in 0..3 {
        completions.push(execute(store, touch.clone()).await);
        if matches!(completions.last(), Some(Completion::Done(_))) {
            return;
        }
    }
    panic!("the handle does not get on: {completions:?}");
}

/// Settles, finds nothing left behind, and opens again.
pub async fn settle(backend: &mut Tormented) -> TormentedStore {
    assert_eq!(backend.settle().await.unwrap(), []);
    backend.reopen().await.unwrap();
    handle(backend).await
}

/// Makes a session in which an operation of every kind has something to do, but for the one
/// that is to make it.
pub async fn prepare(store: &mut TormentedStore, kind: OperationKind, session: &str) {
    if kind == OperationKind::CreateSession {
        return;
    }
    done(store, create(session)).await;
    done(store, stage(session, "t", "c", vec![set("staged", 1)])).await;
    let (id, call, run) = (session.into(), "c".into(), "r".into());
    done(store, Operation::RegisterCall { session: id, call, run, deadline: 1 }).await;
    if kind == OperationKind::ConsumeInterrupt {
        done(store, Operation::RequestInterrupt { session: session.into() }).await;
    }
}

/// An operation of this kind, which has an effect in a session that was prepared for it.
pub fn sample(kind: OperationKind, name: &str) -> Operation {
    use OperationKind as Kind;
    let session = name.into();
    match kind {
        Kind::CreateSession => create(name),
        Kind::DeleteSession => delete(name),
        Kind::Load => load(name),
        Kind::ReadMessages => Operation::ReadMessages { session, offset: 0, limit: 9 },
        Kind::Touch => Operation::Touch { session, expires_at: Some(99) },
        Kind::Stage => stage(name, "t", "c", vec![]),
        Kind::Discard => Operation::Discard { session, step: "t".into() },
        Kind::Promote => promotion(name, "t", 1),
        Kind::AppendMessages => append(name, vec![message("m", 1)]),
        Kind::CompareAndSetStatus => {
            let (from, to) = (vec![Status::Active], Status::Completed);
            Operation::CompareAndSetStatus { session, from, to }
        }
        Kind::BeginRun => Operation::BeginRun { session, run: "r".into() },
        Kind::RequestInterrupt => Operation::RequestInterrupt { session },
        Kind::ConsumeInterrupt => Operation::ConsumeInterrupt { session },
        Kind::RegisterCall => {
            Operation::RegisterCall { session, call: "d".into(), run: "r".into(), deadline: 9 }
        }
        Kind::SubmitResult => {
            let (call, run, result) = ("c".into(), "r".into(), Value::Null);
            Operation::SubmitResult { session, call, run, result, now: 0 }
        }
        Kind::ExpireCalls => Operation::ExpireCalls { now: 1 },
        Kind::Cleanup => Operation::Cleanup { now: 9, staging_ttl: 0 },
    }
}

/// All that can be seen of a session, by the store and past it.
pub async fn look(
    backend: &Tormented,
    store: &mut TormentedStore,
    session: &str,
) -> (Completion, Audit) {
    let rows = backend.audit(&[session.into()]).await.unwrap();
    (execute(store, load(session)).await, rows)
}

/// A promote with something of everything.
pub fn promotion(session: &str, step: &str, version: u64) -> Operation {
    promote(session, step, version, vec![set("k", 1)], vec![message(step, Value::Null)])
}

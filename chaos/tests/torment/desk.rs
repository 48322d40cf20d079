//! What the tests share: the server that none of them kills, and operations with an effect
//! that can be seen.

use std::sync::{Arc, LazyLock};

use stagefault_chaos::torment::{MortalServer, Tormented, TormentedNamespaces, TormentedStore};
use stagefault_models::{
    Backend, CallState, Completion, Fault, FaultKind, Namespaces, Operation, Point, Receipt, Scope,
    Snapshot, Stage, Store, Value,
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

/// Whether an operation of the handle is done, at the latest the third: one may find the
/// connection broken, and one nobody there.
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

/// One operation of each course through the store, with an effect that can be seen.
#[derive(Clone, Copy, Debug)]
pub enum Sample {
    Load,
    Stage,
    Promote,
    Expire,
}

impl Sample {
    /// Makes the session in which the operation has something to do.
    pub async fn prepare(self, store: &mut TormentedStore, session: &str) {
        done(store, create(session)).await;
        match self {
            Sample::Load => {}
            Sample::Stage => {
                done(store, stage(session, "t", "c", vec![])).await;
            }
            Sample::Promote => {
                done(store, stage(session, "t", "c", vec![set("staged", 1)])).await;
            }
            Sample::Expire => {
                let (id, call, run) = (session.into(), "c".into(), "r".into());
                done(store, Operation::RegisterCall { session: id, call, run, deadline: 1 }).await;
            }
        }
    }

    pub fn operation(self, session: &str) -> Operation {
        match self {
            Sample::Load => load(session),
            Sample::Stage => match stage(session, "t", "c", vec![set("k", 1)]) {
                Operation::Stage(stage) => Operation::Stage(Stage { at: 2, ..stage }),
                other => other,
            },
            Sample::Promote => promotion(session, "t", 1),
            Sample::Expire => Operation::ExpireCalls { now: 1 },
        }
    }

    /// Whether the operation has had its effect.
    pub fn took_effect(self, after: &Snapshot) -> bool {
        match self {
            Sample::Load => false,
            Sample::Stage => after.staged.iter().any(|mark| mark.at == 2),
            Sample::Promote => {
                let whole = (after.version, after.staged.len(), after.message_count);
                assert!(whole == (1, 1, 0) || whole == (2, 0, 1), "half a promote: {after:?}");
                after.version == 2
            }
            Sample::Expire => after.calls.iter().any(|(_, call)| call.state == CallState::Expired),
        }
    }
}

/// A promote with something of everything.
pub fn promotion(session: &str, step: &str, version: u64) -> Operation {
    promote(session, step, version, vec![set("k", 1)], vec![message(step, Value::Null)])
}

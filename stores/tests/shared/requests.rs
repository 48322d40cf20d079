//! Short ways to say what is asked of a store, and to ask it.

use std::sync::Arc;

use stagefault_models::{
    Backend, Change, Completion, Message, Operation, Promote, Reply, Scope, Snapshot, Stage, Store,
    Value,
};

pub async fn handle<B: Backend>(backend: &B) -> B::Store {
    backend.store().await.expect("a handle")
}

pub async fn execute(store: &mut impl Store, operation: Operation) -> Completion {
    store.execute(&operation, &Scope::default()).await
}

pub async fn done(store: &mut impl Store, operation: Operation) -> Reply {
    match execute(store, operation.clone()).await {
        Completion::Done(reply) => reply,
        other => panic!("{operation:?} was not done: {other:?}"),
    }
}

pub async fn snapshot(store: &mut impl Store, session: &str) -> Snapshot {
    match done(store, load(session)).await {
        Reply::Snapshot(snapshot) => snapshot.into_inner(),
        other => panic!("not a snapshot: {other:?}"),
    }
}

pub async fn messages(store: &mut impl Store, session: &str) -> Vec<Message> {
    let read = Operation::ReadMessages { session: session.into(), offset: 0, limit: 1000 };
    match done(store, read).await {
        Reply::Page { messages, .. } => messages,
        other => panic!("not a page: {other:?}"),
    }
}

pub fn create(session: &str) -> Operation {
    Operation::CreateSession { session: session.into(), expires_at: None }
}

pub fn delete(session: &str) -> Operation {
    Operation::DeleteSession { session: session.into() }
}

pub fn load(session: &str) -> Operation {
    Operation::Load { session: session.into() }
}

pub fn append(session: &str, messages: Vec<Message>) -> Operation {
    Operation::AppendMessages { session: session.into(), messages }
}

pub fn message(id: &str, body: impl Into<Value>) -> Message {
    Message { id: id.into(), body: body.into() }
}

pub fn stage(session: &str, step: &str, call: &str, changes: Vec<Change>) -> Operation {
    let changes = Arc::from(changes);
    let (session, step, call) = (session.into(), step.into(), call.into());
    Operation::Stage(Stage { session, step, call, at: 1, changes })
}

pub fn promote(
    session: &str,
    step: &str,
    expected: u64,
    changes: Vec<Change>,
    messages: Vec<Message>,
) -> Operation {
    let (session, step) = (session.into(), step.into());
    Operation::Promote(Promote { session, step, expected, status: None, changes, messages })
}

pub fn set(key: &str, value: impl Into<Value>) -> Change {
    Change::Set { key: key.into(), value: value.into() }
}

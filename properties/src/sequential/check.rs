//! Comparing what the store says with what the model has.

use std::any::Any;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use stagefault_models::audit::Finding;
use stagefault_models::contract::MAX_PAGE;
use stagefault_models::{
    BackendError, Completion, Failure, Id, Invariant, Message, Operation, OperationKind, Refusal,
    Reply, Scope, Seen, Session, Snapshot, Store,
};

/// How long an operation may take over its own deadline before it counts as hung.
const GRACE: Duration = Duration::from_secs(20);

/// What a check comes to. A difference is rare, and boxed so that it makes no answer larger.
pub(super) type Checked<T = ()> = Result<T, Box<Difference>>;

/// How the store and the model differ, or why that cannot be told.
pub(super) enum Difference {
    /// The completion is not the model's.
    Answer { expected: Result<Reply, Refusal>, completion: Completion },
    /// What is loaded is not what the model has.
    Session { id: Id, expected: Option<Box<Snapshot>>, completion: Completion },
    /// The messages read are not the model's.
    Messages { id: Id, offset: usize, expected: Vec<Message>, completion: Completion },
    /// An invariant objects.
    Breach(Invariant, String),
    /// The raw rows are not the model's.
    Rows(Vec<Finding>),
    /// One of the above, found after the last operation.
    AtEnd(Box<Difference>),
    /// One of the above, found after the backend was closed and opened again.
    AfterReopen(Box<Difference>),
    /// The store panicked.
    Panicked(String),
    /// The store did not answer this operation.
    Hung(OperationKind),
    /// The store reported trouble.
    Failed { operation: OperationKind, completion: Completion, failure: Failure },
    /// The backend cannot be used.
    Backend(BackendError),
}

impl From<BackendError> for Box<Difference> {
    fn from(error: BackendError) -> Self {
        Box::new(Difference::Backend(error))
    }
}

impl Difference {
    pub(super) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Difference::Panicked(text.unwrap_or_else(|| "without a message".to_owned()))
    }
}

/// Executes one operation, and takes a store that does not answer for hung.
pub(super) async fn execute<S: Store>(store: &mut S, operation: &Operation) -> Checked<Completion> {
    let scope = Scope::default();
    let mut execution = pin!(store.execute(operation, &scope));
    // Asked once before a timer is set up, for the fastest store answers at once.
    if let Poll::Ready(completion) = futures_util::poll!(execution.as_mut()) {
        return Ok(completion);
    }
    let limit = scope.deadline + GRACE;
    let answered = tokio::time::timeout(limit, execution).await;
    answered.map_err(|_| Difference::Hung(operation.kind()).into())
}

/// Whether the reply is the model's, but for the order of what the contract leaves free.
fn is(reply: &Reply, expected: &Reply) -> bool {
    // Stores mostly answer in the model's order, and sorting is dear.
    reply == expected || sorted(reply) == *expected
}

fn sorted(reply: &Reply) -> Reply {
    let mut sorted = reply.clone();
    sorted.sort();
    sorted
}

/// Compares a completion with the model's answer.
pub(super) fn answer(
    operation: &Operation,
    expected: Result<Reply, Refusal>,
    completion: &Completion,
) -> Checked {
    let agree = match (&expected, completion) {
        (Ok(expected), Completion::Done(reply)) => is(reply, expected),
        (Err(expected), Completion::Refused(refusal)) => expected == refusal,
        (_, Completion::NotApplied(failure) | Completion::Unknown(failure)) => {
            let (completion, failure) = (completion.clone(), failure.clone());
            return Err(
                Difference::Failed { operation: operation.kind(), completion, failure }.into()
            );
        }
        _ => false,
    };
    if agree {
        Ok(())
    } else {
        Err(Difference::Answer { expected, completion: completion.clone() }.into())
    }
}

/// Loads a session and compares it, and the last `tail` of its messages.
pub(super) async fn session<S: Store>(
    store: &mut S,
    id: &Id,
    expected: Option<&Session>,
    tail: usize,
) -> Checked {
    let load = Operation::Load { session: id.clone() };
    let completion = execute(store, &load).await?;
    let agrees = match (&completion, expected) {
        (Completion::Done(reply), Some(session)) => shows(reply, session),
        (Completion::Refused(Refusal::SessionNotFound), None) => true,
        (Completion::NotApplied(_) | Completion::Unknown(_), _) => {
            return answer(&load, Err(Refusal::SessionNotFound), &completion);
        }
        _ => false,
    };
    if !agrees {
        let expected = expected.map(|session| Box::new(session.snapshot()));
        return Err(Difference::Session { id: id.clone(), expected, completion }.into());
    }
    match expected {
        Some(session) => {
            let known = session.messages.len().saturating_sub(tail);
            messages(store, id, &session.messages, known).await
        }
        None => Ok(()),
    }
}

/// Whether the reply to a `Load` is what the model has.
fn shows(reply: &Reply, session: &Session) -> bool {
    match reply {
        Reply::Snapshot(seen) if session.agrees_with(seen) => true,
        Reply::Snapshot(_) => sorted(reply) == Reply::Snapshot(session.snapshot().into()),
        _ => false,
    }
}

/// Reads the messages from the `offset`-th on, page by page, and compares them.
async fn messages<S: Store>(store: &mut S, id: &Id, all: &[Message], mut offset: usize) -> Checked {
    while let Some(page) = all.get(offset..).filter(|rest| !rest.is_empty()) {
        let page = &page[..page.len().min(MAX_PAGE as usize)];
        let completion = read_page(store, id, offset, page.len()).await?;
        let agrees = match &completion {
            Completion::Done(Reply::Page { messages, total }) => {
                messages == page && *total == all.len() as u64
            }
            _ => false,
        };
        if !agrees {
            let expected = page.to_vec();
            return Err(
                Difference::Messages { id: id.clone(), offset, expected, completion }.into()
            );
        }
        offset += page.len();
    }
    Ok(())
}

async fn read_page<S: Store>(
    store: &mut S,
    id: &Id,
    offset: usize,
    limit: usize,
) -> Checked<Completion> {
    let (offset, limit) = (offset as u64, limit as u64);
    let operation = Operation::ReadMessages { session: id.clone(), offset, limit };
    let completion = execute(store, &operation).await?;
    if let Completion::NotApplied(failure) | Completion::Unknown(failure) = &completion {
        let (operation, failure) = (operation.kind(), failure.clone());
        return Err(Difference::Failed { operation, completion, failure }.into());
    }
    Ok(completion)
}

/// All that can be seen of a session; `None` when it is not there.
pub(super) async fn seen<S: Store>(store: &mut S, id: &Id) -> Checked<Option<Seen>> {
    let completion = execute(store, &Operation::Load { session: id.clone() }).await?;
    let Completion::Done(reply) = &completion else { return Ok(None) };
    let Reply::Snapshot(snapshot) = sorted(reply) else { return Ok(None) };
    let mut messages = Vec::new();
    loop {
        match read_page(store, id, messages.len(), MAX_PAGE as usize).await? {
            Completion::Done(Reply::Page { messages: page, .. }) if !page.is_empty() => {
                messages.extend(page);
            }
            _ => return Ok(Some(Seen { snapshot: snapshot.into_inner(), messages })),
        }
    }
}

//! Writers that run freely: the store and the system decide how operations overlap.
//!
//! One thread drives all writers. What is concurrent is behind the connections: the
//! store's threads or its server.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use stagefault_models::{Completion, Operation, Store};

use super::run::{Ended, Execution, Run, Stopped};
use super::source::Source;

/// How long an operation may take over its own deadline before it counts as hung.
pub(super) const GRACE: Duration = Duration::from_secs(20);

/// Runs the episode's operations, each as soon as its writer is free.
pub(super) async fn run<S: Store>(
    run: &mut Run<'_, S, impl Source>,
) -> Result<(), (usize, Stopped)> {
    let mut open = FuturesUnordered::new();
    loop {
        while run.can_call() {
            let index = run.history.operations.len();
            let Some(execution) = run.call(None) else { break };
            open.push(limited(index, execution, run.deadline));
        }
        match open.next().await {
            Some(ended) => run.back(ended)?,
            None => return Ok(()),
        }
    }
}

/// Executes operations of which none depends on another, while nothing else is open: at once,
/// each by a writer who is free, where writers run freely, and else one after the other. The
/// completions are in the order of the operations.
pub(super) async fn together<S: Store>(
    run: &mut Run<'_, S, impl Source>,
    operations: Vec<Operation>,
) -> Result<Vec<Completion>, (usize, Stopped)> {
    let first = run.history.operations.len();
    let at_once = if run.free { run.stores.len() } else { 1 };
    let mut open = FuturesUnordered::new();
    let mut operations = operations.into_iter().fuse();
    loop {
        while open.len() < at_once {
            let Some(operation) = operations.next() else { break };
            let index = run.history.operations.len();
            let free = run.stores.iter().position(Option::is_some).unwrap_or(0);
            let execution = run.call_by(free as u32, operation).ok_or((index, Stopped::Hung))?;
            open.push(limited(index, execution, run.deadline));
        }
        match open.next().await {
            Some(ended) => run.back(ended)?,
            None => break,
        }
    }
    let returned = run.history.operations[first..].iter().map(|recorded| &recorded.returned);
    let completions = returned.flatten().map(|returned| returned.completion.clone());
    Ok(completions.collect())
}

/// The store keeps the deadline itself; this only finds out when it does not.
pub(super) async fn limited<S>(
    index: usize,
    execution: Execution<S>,
    deadline: Duration,
) -> Ended<S> {
    match tokio::time::timeout(deadline + GRACE, execution).await {
        Ok(ended) => ended,
        Err(_) => Ended { index, outcome: Err(Stopped::Hung) },
    }
}

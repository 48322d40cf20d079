//! A writer's handle: it keeps the deadline, and turns what became of a run into the
//! completion that is true of it.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, raw_sql};
use stagefault_models::{Completion, Failure, Operation, Point, Reply, Scope, Store};
use tokio::sync::Mutex;

use super::failure::{Stop, closed, failure, late};
use super::link::{Link, timeouts};
use super::route::Route;
use super::run::{Run, Traced};
use super::{calls, interactive, load, messages, planted, promote, races, session, staging, sweep};
use crate::flaws::{Flaw, Flaws};

/// A handle's connection, which its backend takes away to close it.
pub(super) type Shared = Mutex<Option<Link>>;

/// A handle's share of its connection: the only lasting one.
pub(super) type Slot = Arc<Shared>;

/// One writer's handle on a [`PostgresBackend`](super::PostgresBackend).
///
/// It owns one connection, which is closed when the handle is dropped. A connection that
/// broke, or that an operation left in a state that nobody knows, is replaced by the next
/// operation. It needs tokio's timers and I/O.
pub struct PostgresStore {
    slot: Slot,
    flaws: Flaws,
    trace: Option<Vec<Traced>>,
}

impl PostgresStore {
    pub(super) fn new(slot: Slot, flaws: Flaws) -> Self {
        PostgresStore { slot, flaws, trace: None }
    }

    /// Records the statements of the operations to come, for benchmarks.
    #[doc(hidden)]
    pub fn record_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The statements since recording began, which it ends.
    #[doc(hidden)]
    pub fn take_trace(&mut self) -> Vec<Traced> {
        self.trace.take().unwrap_or_default()
    }

    /// Gives the connection up and connects another way, now and from now on.
    ///
    /// # Errors
    /// That this connection cannot be made. The next operation tries again, by this way.
    pub async fn reroute(&mut self, route: Route) -> Result<(), Failure> {
        let mut slot = self.slot.lock().await;
        let link = slot.as_mut().ok_or_else(closed)?;
        link.reroute(route);
        link.prepare(Scope::default().deadline).await
    }

    /// The server's process id for its connection, while it has one.
    pub async fn backend(&self) -> Option<i32> {
        self.slot.lock().await.as_ref()?.backend()
    }

    /// Gives its connection, which it makes if it has none, these settings, by name and value.
    /// They win over the store's own for operations with the usual deadline.
    ///
    /// # Errors
    /// That there is no connection, or that it does not take them.
    pub async fn set(&mut self, settings: &[(&'static str, String)]) -> Result<(), Failure> {
        let mut slot = self.slot.lock().await;
        let link = slot.as_mut().ok_or_else(closed)?;
        link.prepare(Scope::default().deadline).await?;
        let set = settings.iter().map(|(name, value)| format!("SET {name} = '{value}'"));
        say(link, set.collect()).await
    }

    /// Takes these settings back, if the connection that has them is still there.
    ///
    /// # Errors
    /// That it does not heed that: it may be in a transaction that failed.
    pub async fn unset(&mut self, settings: &[(&'static str, String)]) -> Result<(), Failure> {
        let mut slot = self.slot.lock().await;
        let link = slot.as_mut().ok_or_else(closed)?;
        if link.backend().is_none() {
            return Ok(());
        }
        let own = timeouts(Scope::default().deadline);
        let reset = settings.iter().map(|(name, _)| match own.iter().find(|own| own.0 == *name) {
            Some((_, time)) => format!("SET {name} = {}", time.as_millis()),
            None => format!("RESET {name}"),
        });
        say(link, reset.collect()).await
    }

    /// Executes a valid operation, once.
    async fn attempt(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        let mut in_doubt = false;
        let answer = self.answer(operation, scope, &mut in_doubt);
        // A run cut off by the deadline is dropped, and with it the connection, if it waits
        // for an answer on it; what it sent before may still be carried out, and that is
        // what the doubt is about.
        let failure = match tokio::time::timeout(scope.deadline, answer).await {
            Ok(Ok(reply)) => return Completion::Done(reply),
            Ok(Err(Stop::Refused(refusal))) => return Completion::Refused(refusal),
            Ok(Err(Stop::Failed(failure))) => failure,
            Err(_) if self.flaws.has(Flaw::TimeoutNotApplied) => {
                return Completion::NotApplied(late());
            }
            Err(_) => late(),
        };
        if in_doubt { Completion::Unknown(failure) } else { Completion::NotApplied(failure) }
    }

    async fn answer(
        &mut self,
        operation: &Operation,
        scope: &Scope<'_>,
        in_doubt: &mut bool,
    ) -> Result<Reply, Stop> {
        scope.reach(Point::Acquire).await;
        let mut slot = self.slot.lock().await;
        let link = slot.as_mut().ok_or_else(closed)?;
        link.prepare(scope.deadline).await?;
        let trace = self.trace.as_mut();
        let mut run = Run { link, scope, in_doubt, flaws: self.flaws, trace, statements: 0 };
        let answer = dispatch(&mut run, operation).await;
        if !matches!(answer, Err(Stop::Failed(_))) {
            scope.reach(Point::Reply).await;
        }
        answer
    }
}

impl Store for PostgresStore {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        if let Err(refusal) = operation.validate() {
            return Completion::Refused(refusal);
        }
        let completion = self.attempt(operation, scope).await;
        if planted::is_tried_again(self.flaws, &completion) {
            return self.attempt(operation, scope).await;
        }
        completion
    }
}

/// Sends these commands, in one message.
async fn say(link: &mut Link, commands: Vec<String>) -> Result<(), Failure> {
    let said = link.send(raw_sql(AssertSqlSafe(commands.join("; ")))).await;
    said.map(drop).map_err(|error| failure("at the session's settings", error.driver()))
}

async fn dispatch(run: &mut Run<'_>, operation: &Operation) -> Result<Reply, Stop> {
    match operation {
        _ if races::is_planted(run.flaws, operation) => races::execute(run, operation).await,
        Operation::CreateSession { session, expires_at } => {
            session::create(run, session, *expires_at).await
        }
        Operation::DeleteSession { session } => session::delete(run, session).await,
        Operation::Load { session } => load::load(run, session).await,
        Operation::ReadMessages { session, offset, limit } => {
            messages::read_messages(run, session, *offset, *limit).await
        }
        Operation::Touch { session, expires_at } => session::touch(run, session, *expires_at).await,
        Operation::Stage(stage) => staging::stage(run, stage).await,
        Operation::Discard { session, step } => staging::discard(run, session, step).await,
        Operation::Promote(promote) if interactive::is_planted(run.flaws) => {
            interactive::promote(run, promote).await
        }
        Operation::Promote(promote) => promote::promote(run, promote).await,
        Operation::AppendMessages { session, messages } => {
            messages::append_messages(run, session, messages).await
        }
        Operation::CompareAndSetStatus { session, from, to } => {
            session::compare_and_set_status(run, session, from, *to).await
        }
        Operation::BeginRun { session, run: begun } => {
            session::begin_run(run, session, begun).await
        }
        Operation::RequestInterrupt { session } => session::request_interrupt(run, session).await,
        Operation::ConsumeInterrupt { session } => session::consume_interrupt(run, session).await,
        Operation::RegisterCall { session, call, run: by, deadline } => {
            calls::register_call(run, session, call, by, *deadline).await
        }
        Operation::SubmitResult { session, call, run: by, result, now } => {
            calls::submit_result(run, session, call, by, result, *now).await
        }
        Operation::ExpireCalls { now } => Ok(sweep::expire_calls(run, *now).await?),
        Operation::Cleanup { now, staging_ttl } => {
            Ok(sweep::cleanup(run, *now, *staging_ttl).await?)
        }
    }
}

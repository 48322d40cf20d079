//! An episode as it runs: who is free, what is called, and what was recorded.
//!
//! Both ways of interleaving ([`super::turns`], [`super::free`]) ask it what can be called
//! next and hand back what returned. All of it happens on the thread that drives the
//! writers, so the clock is a number, and recording costs no more than the history itself.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use stagefault_chaos::injecting::InjectingStore;
use stagefault_models::{
    Completion, Entry, Failure, Fault, History, Hook, Interleaving, Operation, Receipt, Recorded,
    Returned, Schedule, Scope, Store, StoreModel,
};

use super::learn::learn;
use super::source::Source;
use super::tally::Tallies;

/// An operation that is open.
pub(super) type Execution<S> = Pin<Box<dyn Future<Output = Ended<S>> + Send>>;

/// How an operation ended: the handle comes back with the completion.
pub(super) struct Ended<S> {
    pub index: usize,
    pub outcome: Result<Answered<S>, Stopped>,
}

pub(super) struct Answered<S> {
    store: InjectingStore<S>,
    completion: Completion,
    receipt: Option<Receipt>,
}

/// Why an operation never answered.
#[derive(Clone, Debug)]
pub enum Stopped {
    /// The store panicked, with these words.
    Panicked(String),
    /// The store did not answer by the outer limit.
    Hung,
    /// No more faults came, and the store still could not execute it, for this reason.
    Failed(Failure),
}

/// An episode as it runs.
pub(super) struct Run<'a, S, Q> {
    source: &'a mut Q,
    tallies: &'a mut Tallies,
    /// Where the operations lead if they take effect in the order of their calls, mended
    /// by what the writers learn: what the source goes by.
    pub model: StoreModel,
    pub history: History,
    /// The faults that were planned, in the places of the history.
    pub faults: Vec<Option<Fault>>,
    /// The receipts of those that fired, in the same places.
    pub receipts: Vec<Option<Receipt>>,
    /// The turns that were taken, if turns are what the interleaving is made of.
    pub turns: Vec<u32>,
    /// Whether writers run freely.
    pub free: bool,
    /// When each open operation was called, by its writer, where they do.
    since: Vec<Option<Instant>>,
    clock: u64,
    /// How long an operation may take.
    pub deadline: Duration,
    /// The handles of the writers that are free.
    pub stores: Vec<Option<InjectingStore<S>>>,
    /// The next operation, while its writer is not free.
    waiting: Option<Entry>,
    /// Whether something is in doubt that no injected fault explains.
    pub in_doubt: bool,
    /// Whether a turn was given up because its operation waited.
    pub passed_over: bool,
}

impl<'a, S: Store, Q: Source> Run<'a, S, Q> {
    pub(super) fn new(
        stores: Vec<InjectingStore<S>>,
        source: &'a mut Q,
        tallies: &'a mut Tallies,
        free: bool,
        deadline: Duration,
    ) -> Self {
        Run {
            source,
            tallies,
            model: StoreModel::default(),
            history: History::default(),
            faults: Vec::new(),
            receipts: Vec::new(),
            turns: Vec::new(),
            free,
            since: vec![None; stores.len()],
            clock: 0,
            deadline,
            stores: stores.into_iter().map(Some).collect(),
            waiting: None,
            in_doubt: false,
            passed_over: false,
        }
    }

    /// Whether the next operation can be called now.
    pub(super) fn can_call(&mut self) -> bool {
        if self.waiting.is_none() {
            let free = |writer: &u32| self.stores[*writer as usize].is_some();
            let free: Vec<u32> = (0..self.stores.len() as u32).filter(free).collect();
            if !free.is_empty() {
                self.waiting = self.source.next(&self.model, &free);
            }
        }
        self.waiting.as_ref().is_some_and(|entry| self.stores[self.seat(entry.writer)].is_some())
    }

    fn seat(&self, writer: u32) -> usize {
        writer as usize % self.stores.len()
    }

    /// Calls the next operation: the source's, if its writer is free.
    pub(super) fn call(&mut self, hook: Option<Arc<dyn Hook>>) -> Option<Execution<S>> {
        let Entry { writer, operation, fault } = self.waiting.take()?;
        let seat = self.seat(writer);
        let mut store = self.stores[seat].take()?;
        let _ = self.model.step(&operation);
        let index = self.history.operations.len();
        store.plan(fault);
        self.faults.push(fault);
        self.receipts.push(None);
        self.record_call(seat as u32, operation.clone());
        if self.free {
            self.since[seat] = Some(Instant::now());
        }
        let deadline = self.deadline;
        let execution = async move {
            let scope = Scope { hook: hook.as_deref(), deadline };
            let completion = store.execute(&operation, &scope).await;
            let receipt = store.receipt();
            Answered { store, completion, receipt }
        };
        Some(Box::pin(async move {
            let answered = AssertUnwindSafe(execution).catch_unwind().await;
            let outcome = answered.map_err(|panic| Stopped::panicked(panic.as_ref()));
            Ended { index, outcome }
        }))
    }

    /// Takes note of what became of an operation.
    pub(super) fn back(&mut self, ended: Ended<S>) -> Result<(), (usize, Stopped)> {
        let Ended { index, outcome } = ended;
        let Answered { store, mut completion, receipt } =
            outcome.map_err(|stopped| (index, stopped))?;
        if let Completion::Done(reply) = &mut completion {
            reply.sort();
        }
        let at = self.tick();
        let Recorded { writer, operation, .. } = &self.history.operations[index];
        let writer = *writer as usize;
        let took = self.since[writer].take();
        self.tallies.count(operation.kind(), completion.kind(), receipt, took);
        learn(&mut self.model, operation, &completion);
        self.in_doubt |= matches!(completion, Completion::Unknown(_)) && receipt.is_none();
        self.receipts[index] = receipt;
        self.history.operations[index].returned = Some(Returned { at, completion });
        self.stores[writer] = Some(store);
        Ok(())
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn record_call(&mut self, writer: u32, operation: Operation) {
        let called = self.tick();
        self.history.operations.push(Recorded { writer, operation, called, returned: None });
    }

    /// Calls an operation of the lane's own by a writer who is free.
    pub(super) fn call_by(&mut self, writer: u32, operation: Operation) -> Option<Execution<S>> {
        self.waiting = Some(Entry::new(writer, operation));
        self.call(None)
    }

    /// Executes an operation while nothing else is open, and records it.
    pub(super) async fn alone(
        &mut self,
        writer: u32,
        operation: Operation,
    ) -> Result<Completion, (usize, Stopped)> {
        let index = self.history.operations.len();
        let Some(execution) = self.call_by(writer, operation) else {
            return Err((index, Stopped::Hung));
        };
        let ended = super::free::limited(index, execution, self.deadline).await;
        self.back(ended)?;
        let returned = self.history.operations[index].returned.as_ref();
        returned.map(|returned| returned.completion.clone()).ok_or((index, Stopped::Hung))
    }

    /// Whether a fault was planned that is done for real.
    pub(super) fn was_tormented(&self) -> bool {
        self.faults.iter().flatten().any(Fault::is_real)
    }

    /// What was run, as a schedule.
    pub(super) fn schedule(&self, by_turns: bool) -> Schedule {
        let operations = self.history.operations.iter().zip(&self.faults);
        let entry = |(recorded, fault): (&Recorded, &Option<Fault>)| Entry {
            writer: recorded.writer,
            operation: recorded.operation.clone(),
            fault: *fault,
        };
        let mut schedule = Schedule::new(operations.map(entry).collect());
        schedule.interleaving = Some(match by_turns {
            true => Interleaving::Turns(self.turns.clone()),
            false => Interleaving::Free,
        });
        schedule
    }
}

impl Stopped {
    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Stopped::Panicked(text.unwrap_or_else(|| "without a message".to_owned()))
    }
}

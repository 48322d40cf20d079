//! The sequential lane: one operation at a time, each held against the model.
//!
//! After every operation the completion is compared with the model's answer, the touched
//! session is loaded and compared, and so is the new tail of its messages. At an
//! episode's end everything is read and compared, the raw rows are audited, and the
//! sessions are deleted, so that the next episode starts from nothing and memory stays
//! flat for any number of them.
//!
//! Sequential does not mean alone: writers take turns, and what one was told is read back
//! through the handle of another.

mod check;
mod explain;
mod source;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use stagefault_models::{
    Backend, BackendError, Entry, Id, Operation, Refusal, Reply, Schedule, StoreModel, audit,
};

use crate::tally::Tally;
use crate::violation::EpisodeError;
use check::{Checked, Difference, execute};

pub use source::{Generated, Replayed, Source};

/// One backend, its writers, and what was counted on them.
pub struct Sequential<B: Backend> {
    backend: B,
    stores: Vec<B::Store>,
    options: Options,
    tally: Tally,
    /// The operations of the present or last episode, up to the one that failed.
    record: Vec<Entry>,
}

/// What an episode checks beyond the comparison with the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Judge every observation by the invariants themselves, without the model's help.
    pub observe: bool,
    /// Before the last checks, close a durable backend, open it again and compare.
    pub reopen: bool,
}

impl<B: Backend> Sequential<B> {
    /// Opens a handle for each writer.
    ///
    /// # Errors
    /// The backend's, when it gives no handle.
    pub async fn open(backend: B, writers: u32, options: Options) -> Result<Self, BackendError> {
        let stores = open_stores(&backend, writers).await?;
        Ok(Sequential { backend, stores, options, tally: Tally::default(), record: Vec::new() })
    }

    /// What the episodes from now on check.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// What was counted in all episodes.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The operations of the present or last episode as a schedule.
    pub fn recorded(&self) -> Schedule {
        Schedule::new(self.record.clone())
    }

    /// Closes the handles and gives the backend back.
    pub fn into_backend(self) -> B {
        self.backend
    }

    /// Runs one episode. A panic or a hang of the store is a violation like any other.
    ///
    /// # Errors
    /// The violation, of which [`Sequential::recorded`] has the schedule; or that the store
    /// or its namespace could not be used. Do not use the backend any further then.
    pub async fn episode(&mut self, source: &mut impl Source) -> Result<(), EpisodeError> {
        self.record.clear();
        let difference = match AssertUnwindSafe(self.run(source)).catch_unwind().await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(difference)) => difference,
            Err(panic) => Difference::panicked(panic.as_ref()).into(),
        };
        Err(self.explain(*difference).await)
    }

    async fn run(&mut self, source: &mut impl Source) -> Checked {
        let mut model = StoreModel::default();
        while let Some(entry) = source.next(&model) {
            self.record.push(entry);
            self.execute_last(&mut model).await?;
        }
        self.close_episode(model).await.map_err(|difference| Difference::AtEnd(difference).into())
    }

    /// Executes the operation recorded last, and compares all that it touched.
    async fn execute_last(&mut self, model: &mut StoreModel) -> Checked {
        let Some(Entry { writer, operation, .. }) = self.record.last() else { return Ok(()) };
        let writers = self.stores.len() as u32;
        let (writer, reader) = ((writer % writers) as usize, ((writer + 1) % writers) as usize);
        let touched = operation.session();
        let before = self.options.observe.then(|| model.clone());

        let expected = model.step(operation);
        let completion = execute(&mut self.stores[writer], operation).await?;
        self.tally.count(operation.kind(), completion.kind());
        let store = &mut self.stores[reader];
        if let Some(before) = before {
            explain::observe(store, &before, operation, &completion).await?;
        }
        let added = messages_added(&expected);
        check::answer(operation, expected, &completion)?;
        match touched {
            // It is no name, and that this was said is compared already.
            Some(id) if !id.is_valid() => Ok(()),
            Some(id) => check::session(store, id, model.session(id), added).await,
            None => {
                for (id, session) in model.sessions() {
                    check::session(store, id, session, added).await?;
                }
                Ok(())
            }
        }
    }

    /// Compares everything, also after a durable store was opened again; deletes the
    /// sessions; and makes sure that nothing is left of them.
    async fn close_episode(&mut self, mut model: StoreModel) -> Checked {
        self.check_all(&model).await?;
        if self.options.reopen && self.backend.capabilities().durable {
            let writers = self.stores.len() as u32;
            self.stores.clear();
            self.backend.reopen().await?;
            self.stores = open_stores(&self.backend, writers).await?;
            let compared = self.check_all(&model).await;
            compared.map_err(Difference::AfterReopen)?;
        }
        let ids: Vec<Id> = model.sessions().map(|(id, _)| id.clone()).collect();
        for id in &ids {
            if model.session(id).is_none() {
                continue;
            }
            let operation = Operation::DeleteSession { session: id.clone() };
            let expected = model.step(&operation);
            let completion = execute(&mut self.stores[0], &operation).await?;
            check::answer(&operation, expected, &completion)?;
        }
        self.check_rows(&model, &ids).await
    }

    async fn check_all(&mut self, model: &StoreModel) -> Checked {
        let mut ids = Vec::new();
        for (id, session) in model.sessions() {
            check::session(&mut self.stores[0], id, session, usize::MAX).await?;
            ids.push(id.clone());
        }
        self.check_rows(model, &ids).await
    }

    /// Holds the raw rows of these sessions against the model.
    async fn check_rows(&self, model: &StoreModel, ids: &[Id]) -> Checked {
        let findings = audit::compare(model, &self.backend.audit(ids).await?);
        if findings.is_empty() { Ok(()) } else { Err(Difference::Rows(findings).into()) }
    }
}

/// How many messages the operation added to its session.
fn messages_added(answer: &Result<Reply, Refusal>) -> usize {
    match answer {
        Ok(Reply::Promoted { appended, .. } | Reply::Appended { appended, .. }) => {
            *appended as usize
        }
        _ => 0,
    }
}

async fn open_stores<B: Backend>(backend: &B, writers: u32) -> Result<Vec<B::Store>, BackendError> {
    let mut stores = Vec::new();
    for _ in 0..writers.max(1) {
        stores.push(backend.store().await?);
    }
    Ok(stores)
}

/// Replays a schedule on a backend, with every check.
///
/// # Errors
/// As [`Sequential::episode`].
pub async fn replay<B: Backend>(backend: B, schedule: &Schedule) -> Result<(), EpisodeError> {
    let options = Options { observe: false, reopen: true };
    let mut lane = Sequential::open(backend, schedule.writers(), options).await?;
    let outcome = lane.episode(&mut Replayed::new(schedule)).await;
    let removed = lane.into_backend().remove().await;
    outcome?;
    Ok(removed?)
}

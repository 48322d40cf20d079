//! The toxics of a proxy, and its connections' way of keeping up with them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::attributes::Attributes;
use super::error::ApiError;
use super::toxic::{Direction, Toxic};
use crate::proxy::{Answer, Commit, Switchboard, WireReceipt};

/// The toxics of a proxy. A change holds for everything that comes after it, on connections
/// that are there too.
#[derive(Debug, Default)]
pub(super) struct Toxics {
    list: Mutex<List>,
    changed: watch::Sender<()>,
    /// What the connections share, and a cut is armed on.
    switchboard: Arc<Switchboard>,
}

#[derive(Debug, Default)]
struct List {
    toxics: Vec<Arc<Toxic>>,
    version: u64,
    last_id: u64,
}

impl Toxics {
    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn switchboard(&self) -> &Arc<Switchboard> {
        &self.switchboard
    }

    /// Tells of every change from now on.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Those of a direction that work on bytes, if they are no longer of this version; and
    /// their version.
    pub(super) fn since(
        &self,
        version: Option<u64>,
        direction: Direction,
    ) -> Option<(u64, Vec<Arc<Toxic>>)> {
        let list = self.lock();
        let is_new = version != Some(list.version);
        let works = |toxic: &&Arc<Toxic>| toxic.direction == direction && !toxic.is_cut();
        is_new.then(|| (list.version, list.toxics.iter().filter(works).cloned().collect()))
    }

    /// Adds the toxic that a client wrote.
    pub(super) fn add(&self, body: &[u8]) -> Result<Value, ApiError> {
        let mut list = self.lock();
        let toxic = Toxic::read(list.last_id + 1, body)?;
        if list.toxics.iter().any(|other| other.name == toxic.name) {
            return Err(ApiError::toxic_exists());
        }
        if toxic.is_cut() && list.toxics.iter().any(|other| other.is_cut()) {
            return Err(ApiError::second_cut());
        }
        list.last_id += 1;
        let toxic = Arc::new(toxic);
        list.toxics.push(toxic.clone());
        self.arm(&toxic);
        self.has_changed(list);
        Ok(self.show(&toxic))
    }

    /// Changes a toxic as a client wrote.
    pub(super) fn update(&self, name: &str, body: &[u8]) -> Result<Value, ApiError> {
        let mut list = self.lock();
        let place = place(&list.toxics, name)?;
        let toxic = Arc::new(list.toxics[place].updated(body)?);
        list.toxics[place] = toxic.clone();
        self.arm(&toxic);
        self.has_changed(list);
        Ok(self.show(&toxic))
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), ApiError> {
        let mut list = self.lock();
        let place = place(&list.toxics, name)?;
        let toxic = list.toxics.remove(place);
        self.release(&toxic);
        self.has_changed(list);
        Ok(())
    }

    pub(super) fn remove_all(&self) {
        let mut list = self.lock();
        for toxic in std::mem::take(&mut list.toxics) {
            self.release(&toxic);
        }
        self.has_changed(list);
    }

    fn has_changed(&self, mut list: MutexGuard<'_, List>) {
        list.version += 1;
        drop(list);
        self.changed.send_replace(());
    }

    pub(super) fn get(&self, name: &str) -> Result<Value, ApiError> {
        let list = self.lock();
        Ok(self.show(&list.toxics[place(&list.toxics, name)?]))
    }

    /// All of them, those of the client's direction first.
    pub(super) fn all(&self) -> Vec<Value> {
        let list = self.lock();
        let of = |direction| {
            list.toxics.iter().filter(move |toxic: &&Arc<Toxic>| toxic.direction == direction)
        };
        of(Direction::Upstream).chain(of(Direction::Downstream)).map(|it| self.show(it)).collect()
    }

    /// A cut begins to wait for its place.
    fn arm(&self, toxic: &Toxic) {
        let Attributes::PostgresCut(cut) = &toxic.attributes else { return };
        // What an earlier one still holds is let go.
        self.switchboard.go_on();
        self.switchboard.with_faults(|faults| match toxic.applies() {
            true => faults.arm(cut.fault()),
            false => drop(faults.disarm()),
        });
    }

    /// A cut is taken away: what it holds is let go, and what it swallowed is closed.
    fn release(&self, toxic: &Toxic) {
        if toxic.is_cut() {
            self.switchboard.with_faults(|faults| faults.disarm());
            self.switchboard.go_on();
            self.switchboard.close_black_holes();
        }
    }

    /// A toxic as a client reads it; of a cut that has fired, with what it met.
    fn show(&self, toxic: &Toxic) -> Value {
        let mut shown = toxic.to_json();
        if toxic.is_cut() {
            let receipt = self.switchboard.with_faults(|faults| faults.receipt());
            shown["attributes"]["fired"] = receipt.is_some().into();
            if let Some(receipt) = receipt {
                shown["attributes"]["receipt"] = show_receipt(&receipt);
            }
        }
        shown
    }
}

fn place(toxics: &[Arc<Toxic>], name: &str) -> Result<usize, ApiError> {
    toxics.iter().position(|toxic| toxic.name == name).ok_or_else(ApiError::toxic_not_found)
}

fn show_receipt(receipt: &WireReceipt) -> Value {
    let commit = match receipt.commit {
        Commit::NotSent => "not_sent",
        Commit::NotDelivered => "not_delivered",
        Commit::Held => "held",
        Commit::Delivered => "delivered",
    };
    let (done, failed) = match &receipt.answer {
        None => (None, None),
        Some(Answer::Done(tag)) => (Some(tag), None),
        Some(Answer::Failed(code)) => (None, Some(code)),
    };
    json!({
        "backend": receipt.backend,
        "statements": receipt.statements,
        "commit": commit,
        "done": done,
        "failed": failed,
    })
}

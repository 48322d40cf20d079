//! The toxics of one direction of a connection in a row, in the order in which they were
//! added: what comes out of one is put into the next.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::time::Instant;

use super::stage::{Next, Piece, Stage};
use super::toxic::Toxic;

/// The toxics of one direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// What no toxic has seen yet.
    inlet: VecDeque<Piece>,
    stages: Vec<Stage>,
    /// What comes out next, for its last toxic is gone.
    outlet: VecDeque<Piece>,
}

impl Chain {
    /// Whether more is to be read.
    pub(super) fn accepts(&self) -> bool {
        self.inlet.is_empty()
    }

    /// This was read.
    pub(super) fn put(&mut self, piece: Piece) {
        self.inlet.push_back(piece);
    }

    /// These are the toxics from now on. Those that stay go on with what they are at.
    pub(super) fn become_these(&mut self, toxics: &[Arc<Toxic>], now: Instant) {
        self.remove_others(toxics, now);
        for (place, toxic) in toxics.iter().enumerate() {
            match self.stages.get_mut(place) {
                None => self.stages.push(Stage::new(toxic.clone(), now)),
                Some(stage) if stage.toxic().revision != toxic.revision => {
                    stage.update(toxic.clone(), now);
                }
                Some(_) => {}
            }
        }
    }

    /// Removes the stages of toxics that are gone; those that stay keep their order.
    fn remove_others(&mut self, toxics: &[Arc<Toxic>], now: Instant) {
        let mut place = 0;
        while let Some(stage) = self.stages.get(place) {
            if toxics.iter().any(|toxic| toxic.id == stage.toxic().id) {
                place += 1;
                continue;
            }
            let rest = self.stages.remove(place).dissolve();
            match self.stages.get_mut(place) {
                Some(next) => rest.into_iter().for_each(|piece| next.put(piece, now)),
                None => self.outlet.extend(rest),
            }
        }
    }

    /// What comes out at this moment.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        if let Some(piece) = self.outlet.pop_front() {
            return Next::Out(piece);
        }
        loop {
            let mut wake: Option<Instant> = None;
            let mut has_moved = false;
            for place in (0..self.stages.len()).rev() {
                let is_last = place + 1 == self.stages.len();
                if !is_last && !self.stages[place + 1].accepts() {
                    continue;
                }
                match self.stages[place].next(now) {
                    Next::Out(piece) if is_last => return Next::Out(piece),
                    Next::Out(piece) => {
                        self.stages[place + 1].put(piece, now);
                        has_moved = true;
                    }
                    Next::Wait(moment) => wake = [wake, moment].into_iter().flatten().min(),
                }
            }
            if self.stages.first().is_none_or(Stage::accepts)
                && let Some(piece) = self.inlet.pop_front()
            {
                match self.stages.first_mut() {
                    None => return Next::Out(piece),
                    Some(first) => first.put(piece, now),
                }
                has_moved = true;
            }
            if !has_moved {
                return Next::Wait(wake);
            }
        }
    }
}

#[cfg(test)]
mod tests;

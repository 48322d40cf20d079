//! A partition's calls and returns, arranged for the search.
//!
//! *Known* operations have returned and must be placed; *unknown* ones are in doubt and may
//! be. Known ones are numbered in the order of their calls. Each has a *slot* that it shares
//! with no other operation open at the same time, so that which of the open ones are placed
//! is a few bits, however long the history.

use super::{Called, Footprint, Specification};

/// The calls and returns of one partition.
pub(super) struct Course {
    pub known: Vec<Known>,
    /// In the order of their calls.
    pub unknown: Vec<Unknown>,
    /// The known operations in the order of their returns.
    pub by_return: Vec<u32>,
    /// How many slots there are.
    pub slots: usize,
    /// Calls and returns of known operations in the order of the clock: an operation's number
    /// for its call, and its number plus how many there are for its return.
    pub events: Vec<u32>,
}

/// A known operation.
pub(super) struct Known {
    /// Its place among the partition's calls.
    pub call: u32,
    pub called: u64,
    pub returned: u64,
    /// Its place among the returns.
    pub rank: u32,
    pub slot: u32,
    pub pure: bool,
    pub footprint: Footprint,
}

impl Known {
    /// Whether the search must try it where these parts matter.
    pub fn is_candidate(&self, relevant: Footprint) -> bool {
        !self.pure && self.footprint.meets(relevant)
    }
}

/// An unknown operation.
pub(super) struct Unknown {
    /// Its place among the partition's calls.
    pub call: u32,
    pub called: u64,
    pub footprint: Footprint,
}

impl Course {
    pub fn of<S: Specification>(
        specification: &S,
        calls: &[Called<S::Operation, S::Answer>],
    ) -> Self {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for (call, &Called { ref operation, called, ref returned }) in (0u32..).zip(calls) {
            let seen = returned.as_ref().map(|(_, seen)| seen);
            let footprint = specification.footprint(operation, seen);
            match returned {
                Some((at, seen)) => {
                    let pure = specification.is_pure(operation, seen);
                    // A clock that runs back must not make the search lose its way.
                    let returned = (*at).max(called);
                    known.push(Known { call, called, returned, rank: 0, slot: 0, pure, footprint });
                }
                None if specification.may_change(operation) => {
                    unknown.push(Unknown { call, called, footprint });
                }
                None => {}
            }
        }
        known.sort_by_key(|known| known.called);
        unknown.sort_by_key(|unknown| unknown.called);
        let mut course =
            Course { known, unknown, by_return: Vec::new(), slots: 0, events: Vec::new() };
        course.arrange();
        course
    }

    /// Orders the events and deals out the ranks and slots.
    fn arrange(&mut self) {
        let count = self.known.len() as u32;
        self.by_return = (0..count).collect();
        self.by_return.sort_by_key(|known| self.known[*known as usize].returned);
        for (rank, known) in (0..).zip(&self.by_return) {
            self.known[*known as usize].rank = rank;
        }
        let (mut free, mut returns) = (Vec::new(), self.by_return.iter().copied().peekable());
        for number in 0..count {
            let called = self.known[number as usize].called;
            while let Some(back) = returns.next_if(|back| {
                // At the same position calls come first, which rules the fewest orders out.
                self.known[*back as usize].returned < called
            }) {
                free.push(self.known[back as usize].slot);
                self.events.push(back + count);
            }
            self.events.push(number);
            self.known[number as usize].slot = free.pop().unwrap_or_else(|| {
                self.slots += 1;
                self.slots as u32 - 1
            });
        }
        self.events.extend(returns.map(|back| back + count));
    }

    /// The memory of the course, in bytes.
    pub fn bytes(&self) -> usize {
        self.known.capacity() * size_of::<Known>()
            + self.unknown.capacity() * size_of::<Unknown>()
            + (self.by_return.capacity() + self.events.capacity()) * size_of::<u32>()
    }
}

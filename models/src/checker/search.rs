//! The search for an order: Wing and Gong's, with Lowe's memory of where it has been.
//!
//! The operations not yet placed form a list of their calls and returns. Those called
//! before the first return of the list may come next; the one that returns there must come
//! before the search gets past. The search places one that fits, and goes on from there; when
//! none is left it takes the last one back and tries another. It never comes twice to the same
//! configuration ([`Seen`]), and it places pure operations as soon as they fit, which never
//! rules an order out, so it branches over the others alone; and of those over the ones that
//! matter for the first return (`narrowing`).
//!
//! Operations in doubt stay in a list of their own and are placed where something fits only
//! after them: [`Order::KnownFirst`] tries them last, [`Order::ByCall`] when they were called.
//! Either alone stalls on histories that the other decides at once.

mod list;
mod narrowing;

use self::list::List;
use super::course::Course;
use super::pool::Pool;
use super::seen::Seen;
use super::{Called, Footprint, Specification, Step};

/// What a search works on; the searches of a partition share it.
pub(super) struct Ground<S: Specification> {
    pub specification: S,
    pub calls: Vec<Called<S::Operation, S::Answer>>,
    pub course: Course,
    pub states: Pool<S::State>,
    pub initial: u32,
    /// Steps taken of the specification.
    pub steps: u64,
}

impl<S: Specification> Ground<S> {
    /// The state after the call, if it fits.
    fn step(&mut self, state: u32, call: u32) -> Option<u32> {
        self.steps += 1;
        let Called { operation, returned, .. } = &self.calls[call as usize];
        let seen = returned.as_ref().map(|(_, seen)| seen);
        match self.specification.step(self.states.get(state), operation, seen) {
            Step::Refuted => None,
            Step::Same => Some(state),
            Step::Moved(moved) => Some(self.states.number(moved)),
        }
    }
}

/// Which operations are tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Those that returned.
    KnownFirst,
    /// Those that were called first.
    ByCall,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All operations that returned have their place.
    Order,
    /// No order.
    Nothing,
}

/// A known or an unknown operation, by its number among its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidate {
    Known(u32),
    Unknown(u32),
}

/// An operation in its place, and what was so before.
struct Placed {
    what: Candidate,
    state: u32,
    rank: u32,
}

/// A configuration that the search came to and has not left.
struct Frame {
    /// How much was placed before the operation that led here.
    start: u32,
    /// The last candidates that were tried from here.
    known: u32,
    unknown: u32,
    /// What candidates must meet.
    relevant: Footprint,
}

/// One search, which can be interrupted at any step.
pub(super) struct Search {
    order: Order,
    known: List,
    unknown: List,
    /// The configuration: rank and state, slots of open operations that are placed, unknown
    /// operations that are used up.
    words: Vec<u64>,
    slot_words: usize,
    /// How many returns are passed.
    rank: u32,
    state: u32,
    /// How many unknown operations are used up.
    used: u32,
    trail: Vec<Placed>,
    frames: Vec<Frame>,
    seen: Seen,
    best: Best,
}

/// The longest prefix that has an order.
#[derive(Default)]
struct Best {
    /// How many returns it passes; absent before the first retreat.
    rank: Option<u32>,
    /// How many unknown operations it takes to have happened.
    used: u32,
    state: u32,
    trail: Vec<Candidate>,
    /// How much of it is the current trail's beginning.
    common: usize,
}

impl Search {
    pub fn new(order: Order, course: &Course) -> Self {
        let (slots, unknown) = (course.slots, course.unknown.len());
        let (slot_words, unknown_words) = (slots.div_ceil(64), unknown.div_ceil(64));
        let stride = 1 + slot_words + unknown_words;
        Search {
            order,
            known: List::of(course.events.iter().copied()),
            unknown: List::of(0..unknown as u32),
            words: vec![0; stride],
            slot_words,
            rank: 0,
            state: 0,
            used: 0,
            trail: Vec::new(),
            frames: Vec::new(),
            seen: Seen::new(1 + slot_words, stride),
            best: Best::default(),
        }
    }

    /// Searches on, until about so many steps are taken of the specification.
    pub fn advance<S: Specification>(
        &mut self,
        ground: &mut Ground<S>,
        steps: u64,
    ) -> Option<Found> {
        if self.trail.is_empty() && self.frames.is_empty() {
            self.state = ground.initial;
            self.enter(ground, 0);
        }
        let end = ground.steps.saturating_add(steps);
        while self.rank as usize != ground.course.known.len() {
            if ground.steps >= end {
                return None;
            }
            match self.candidate(&ground.course) {
                Some(candidate) => self.attempt(ground, candidate),
                None if self.retreat(&ground.course) => {}
                None => return Some(Found::Nothing),
            }
        }
        Some(Found::Order)
    }

    /// How many returns the search is past now, or was at its best.
    pub fn reached(&self) -> usize {
        self.rank.max(self.best.rank.unwrap_or(0)) as usize
    }

    /// The unknown operations that are placed now, as places among the calls.
    pub fn happened(&self, course: &Course) -> impl Iterator<Item = u32> {
        self.trail.iter().filter_map(|placed| match placed.what {
            Candidate::Known(_) => None,
            Candidate::Unknown(number) => Some(course.unknown[number as usize].call),
        })
    }

    /// The order that passes the most returns, as places among the calls, and its last state.
    pub fn longest(&self, course: &Course) -> (impl Iterator<Item = u32>, u32, u32) {
        let calls = self.best.trail.iter().map(|placed| match *placed {
            Candidate::Known(number) => course.known[number as usize].call,
            Candidate::Unknown(number) => course.unknown[number as usize].call,
        });
        (calls, self.best.state, self.best.rank.unwrap_or(0))
    }

    /// The memory of the search, in bytes.
    pub fn bytes(&self) -> usize {
        self.seen.bytes()
            + self.known.bytes()
            + self.unknown.bytes()
            + self.trail.capacity() * size_of::<Placed>()
            + self.frames.capacity() * size_of::<Frame>()
            + self.best.trail.capacity() * size_of::<Candidate>()
    }

    /// The next operation to try from the current configuration.
    fn candidate(&mut self, course: &Course) -> Option<Candidate> {
        let frame = self.frames.last_mut()?;
        let (count, first_return) =
            (course.known.len() as u32, course.by_return[self.rank as usize]);
        let mut known = self.known.after(frame.known);
        while known < count && !course.known[known as usize].is_candidate(frame.relevant) {
            known = self.known.after(known);
        }
        let known = (known < count).then_some(known);
        let mut unknown = self.unknown.after(frame.unknown);
        while unknown < self.unknown.end()
            && !course.unknown[unknown as usize].footprint.meets(frame.relevant)
        {
            unknown = self.unknown.after(unknown);
        }
        let limit = course.known[first_return as usize].returned;
        let unknown = Some(unknown)
            .filter(|number| *number < self.unknown.end())
            .filter(|number| course.unknown[*number as usize].called <= limit);
        let unknown_first = match (known, unknown) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(known), Some(unknown)) => {
                self.order == Order::ByCall
                    && course.unknown[unknown as usize].called < course.known[known as usize].called
            }
        };
        if unknown_first {
            frame.unknown = unknown?;
            Some(Candidate::Unknown(frame.unknown))
        } else {
            frame.known = known?;
            Some(Candidate::Known(frame.known))
        }
    }

    /// Places the candidate if it fits and leads to where the search has not been.
    fn attempt<S: Specification>(&mut self, ground: &mut Ground<S>, candidate: Candidate) {
        let call = match candidate {
            Candidate::Known(number) => ground.course.known[number as usize].call,
            Candidate::Unknown(number) => ground.course.unknown[number as usize].call,
        };
        let Some(state) = ground.step(self.state, call) else { return };
        if matches!(candidate, Candidate::Unknown(_)) && state == self.state {
            return; // It would be used up for nothing.
        }
        let start = self.trail.len();
        self.place(&ground.course, candidate, state);
        self.enter(ground, start);
    }

    /// Places the pure operations that fit and stays, or goes back to `start` when the search
    /// has been here, with them or without, or there is no hope.
    fn enter<S: Specification>(&mut self, ground: &mut Ground<S>, start: usize) {
        let before = self.trail.len();
        if !self.is_new() {
            return self.take_back(&ground.course, start);
        }
        self.place_pure(ground);
        if self.trail.len() > before && !self.is_new() || self.is_hopeless(ground) {
            return self.take_back(&ground.course, start);
        }
        let relevant = self.relevant(&ground.course);
        let (known, unknown) = (self.known.end(), self.unknown.end());
        self.frames.push(Frame { start: start as u32, known, unknown, relevant });
    }

    /// Keeps the configuration; false when the search has been there.
    fn is_new(&mut self) -> bool {
        self.words[0] = u64::from(self.rank) << 32 | u64::from(self.state);
        self.seen.insert(&self.words)
    }

    /// Places the pure operations that fit.
    fn place_pure<S: Specification>(&mut self, ground: &mut Ground<S>) {
        let count = ground.course.known.len() as u32;
        let mut at = self.known.first();
        while at < count {
            let known = &ground.course.known[at as usize];
            if known.pure && ground.step(self.state, known.call).is_some() {
                self.place(&ground.course, Candidate::Known(at), self.state);
            }
            at = self.known.after(at);
        }
    }

    /// Leaves the current configuration for the one before; false when there is none.
    fn retreat(&mut self, course: &Course) -> bool {
        let better = self.best.rank.is_none_or(|best| {
            // A reader believes the order that supposes the least.
            self.rank > best || self.rank == best && self.used < self.best.used
        });
        if better {
            self.best.rank = Some(self.rank);
            self.best.used = self.used;
            self.best.state = self.state;
            self.best.trail.truncate(self.best.common);
            let new = &self.trail[self.best.common..];
            self.best.trail.extend(new.iter().map(|placed| placed.what));
            self.best.common = self.trail.len();
        }
        let Some(frame) = self.frames.pop() else { return false };
        self.take_back(course, frame.start as usize);
        !self.frames.is_empty()
    }

    /// Places the operation next.
    fn place(&mut self, course: &Course, what: Candidate, state: u32) {
        self.trail.push(Placed { what, state: self.state, rank: self.rank });
        self.state = state;
        match what {
            Candidate::Known(number) => {
                self.known.unlink(number + course.known.len() as u32);
                self.known.unlink(number);
                self.flip_slot(course, number);
                while let Some(back) = course.by_return.get(self.rank as usize)
                    && self.slot_is_set(course, *back)
                {
                    self.flip_slot(course, *back);
                    self.rank += 1;
                }
            }
            Candidate::Unknown(number) => {
                self.unknown.unlink(number);
                self.flip_unknown(number);
                self.used += 1;
            }
        }
    }

    /// Takes operations back until only so many are placed.
    fn take_back(&mut self, course: &Course, length: usize) {
        while self.trail.len() > length
            && let Some(placed) = self.trail.pop()
        {
            self.state = placed.state;
            match placed.what {
                Candidate::Known(number) => {
                    while self.rank > placed.rank {
                        self.rank -= 1;
                        self.flip_slot(course, course.by_return[self.rank as usize]);
                    }
                    self.flip_slot(course, number);
                    self.known.relink(number);
                    self.known.relink(number + course.known.len() as u32);
                }
                Candidate::Unknown(number) => {
                    self.unknown.relink(number);
                    self.flip_unknown(number);
                    self.used -= 1;
                }
            }
        }
        self.best.common = self.best.common.min(self.trail.len());
    }

    fn slot_is_set(&self, course: &Course, known: u32) -> bool {
        let slot = course.known[known as usize].slot as usize;
        self.words[1 + slot / 64] >> (slot % 64) & 1 == 1
    }

    fn flip_slot(&mut self, course: &Course, known: u32) {
        let slot = course.known[known as usize].slot as usize;
        self.words[1 + slot / 64] ^= 1 << (slot % 64);
    }

    fn flip_unknown(&mut self, number: u32) {
        let number = number as usize;
        self.words[1 + self.slot_words + number / 64] ^= 1 << (number % 64);
    }
}

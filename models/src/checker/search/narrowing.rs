//! What a search need not try.
//!
//! *What does not matter yet.* Whatever may come next was called before the first return,
//! and none of it has returned before that. So in an order that gets past that return, an
//! operation whose footprint meets neither that of the operation that returns, nor those of
//! the operations between the two, can as well come right after it. Only those are tried
//! that a chain of footprints, each meeting the next, connects with the first return.
//!
//! *What has no hope.* An operation that needs a part written that nothing called before its
//! return writes will not be answered as it was, and no order from here gets past its return.
//! The search turns back, unless an order from here might still be the longest of all: what
//! is said of a violation must not depend on what was not tried.

use super::super::course::Course;
use super::super::{Called, Footprint, Specification};
use super::{Ground, Search};

impl Search {
    /// The parts that matter for the first return: what does not meet them can wait.
    pub(super) fn relevant(&self, course: &Course) -> Footprint {
        let Some(first_return) = course.by_return.get(self.rank as usize) else {
            return Footprint::default();
        };
        let first = &course.known[*first_return as usize];
        let mut relevant = first.footprint;
        // Nothing can be added to all.
        while relevant != Footprint::ALL {
            let before = relevant;
            let known = self.known.numbers().map_while(|number| course.known.get(number as usize));
            let known = known.map(|known| known.footprint);
            for footprint in known.chain(self.unknown_until(course, first.returned)) {
                if footprint.meets(relevant) {
                    relevant = relevant.and(footprint);
                }
            }
            if relevant == before {
                break;
            }
        }
        relevant
    }

    /// Whether no order that goes on from here is better than the best.
    pub(super) fn is_hopeless<S: Specification>(&self, ground: &mut Ground<S>) -> bool {
        let Ground { course, specification, calls, states, .. } = ground;
        let Some(end) = self.hope() else { return false };
        let last = &course.known[course.by_return[end as usize] as usize];
        let unknown = self.unknown_until(course, last.returned);
        let mut writes = unknown.fold(0, |writes, footprint| writes | footprint.writes);
        let state = states.get(self.state);
        for event in self.known.numbers() {
            if let Some(called) = course.known.get(event as usize) {
                writes |= called.footprint.writes;
                continue;
            }
            let back = &course.known[event as usize - course.known.len()];
            if back.rank > end {
                break;
            }
            let Called { operation, returned, .. } = &calls[back.call as usize];
            let seen = returned.as_ref().map(|(_, seen)| seen);
            let needs = seen.map_or(0, |seen| specification.needs(state, operation, seen));
            if needs & !writes != 0 {
                return true;
            }
        }
        false
    }

    /// The last return that an order from here has to get past to be the best; absent: it is
    /// past that already.
    fn hope(&self) -> Option<u32> {
        let best = self.best.rank?;
        let supposes_less = self.used < self.best.used;
        let last = if supposes_less { best.checked_sub(1)? } else { best };
        (last >= self.rank).then_some(last)
    }

    /// The footprints of the unknown operations that are not used up and called by then.
    fn unknown_until<'a>(
        &'a self,
        course: &'a Course,
        end: u64,
    ) -> impl Iterator<Item = Footprint> + 'a {
        let unknown = self.unknown.numbers().map(|number| &course.unknown[number as usize]);
        unknown.take_while(move |unknown| unknown.called <= end).map(|unknown| unknown.footprint)
    }
}

//! A search with nothing clever in it: every order, one after the other.

use std::cmp::Reverse;

/// An operation: when it was called, and when it returned with what. Absent: in doubt.
pub type Interval<A> = (u64, Option<(u64, A)>);

/// All orders of a few operations.
pub struct Plain<'a, A, S> {
    pub calls: &'a [Interval<A>],
    /// What the operation of this place answers in a state, and the state after it.
    pub apply: &'a dyn Fn(&S, usize) -> (A, S),
}

/// What the search found.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Linearizable,
    /// The operation whose return no order gets past, and how few of those in doubt an order
    /// that gets there takes to have happened.
    Stuck {
        at: usize,
        supposed: usize,
    },
}

/// How many returns are passed, and how few operations in doubt that takes.
type Best = (usize, Reverse<usize>);

impl<A: PartialEq, S> Plain<'_, A, S> {
    pub fn search(&self, initial: &S) -> Outcome {
        let mut returns: Vec<(u64, usize)> = self
            .calls
            .iter()
            .enumerate()
            .filter_map(|(place, (_, returned))| Some((returned.as_ref()?.0, place)))
            .collect();
        returns.sort_unstable();
        let mut best = (0, Reverse(0));
        if self.from(initial, 0, &returns, &mut best) {
            Outcome::Linearizable
        } else {
            let (passed, Reverse(supposed)) = best;
            Outcome::Stuck { at: returns[passed].1, supposed }
        }
    }

    fn from(&self, state: &S, placed: u32, returns: &[(u64, usize)], best: &mut Best) -> bool {
        let is_placed = |place: usize| placed >> place & 1 == 1;
        let passed = returns.iter().take_while(|(_, place)| is_placed(*place)).count();
        let calls = self.calls.iter().enumerate();
        let supposed = calls.filter(|(place, (_, back))| back.is_none() && is_placed(*place));
        *best = (passed, Reverse(supposed.count())).max(*best);
        let Some((first_return, _)) = returns.get(passed) else { return true };
        for (place, (called, returned)) in self.calls.iter().enumerate() {
            if is_placed(place) || called > first_return {
                continue;
            }
            let (answer, next) = (self.apply)(state, place);
            let fits = returned.as_ref().is_none_or(|(_, seen)| *seen == answer);
            if fits && self.from(&next, placed | 1 << place, returns, best) {
                return true;
            }
        }
        false
    }
}

//! A search with nothing clever in it: every order, one after the other.

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
    /// The operation whose return no order gets past.
    Stuck(usize),
}

impl<A: PartialEq, S> Plain<'_, A, S> {
    pub fn search(&self, initial: &S) -> Outcome {
        let mut returns: Vec<(u64, usize)> = self
            .calls
            .iter()
            .enumerate()
            .filter_map(|(place, (_, returned))| Some((returned.as_ref()?.0, place)))
            .collect();
        returns.sort_unstable();
        let mut best = 0;
        if self.from(initial, 0, &returns, &mut best) {
            Outcome::Linearizable
        } else {
            Outcome::Stuck(returns[best].1)
        }
    }

    fn from(&self, state: &S, placed: u32, returns: &[(u64, usize)], best: &mut usize) -> bool {
        let passed = returns.iter().take_while(|(_, place)| placed >> place & 1 == 1).count();
        *best = passed.max(*best);
        let Some((first_return, _)) = returns.get(passed) else { return true };
        for (place, (called, returned)) in self.calls.iter().enumerate() {
            if placed >> place & 1 == 1 || called > first_return {
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

//! The laws that footprints and needs obey, in states that random operations lead to.

use std::fmt::Debug;

use stagefault_models::checker::sessions::{Asked, SessionSpecification};
use stagefault_models::checker::{Specification, Step};

use crate::cells;
use crate::random::{Random, histories};
use crate::sessions;
use crate::specifications::cells::Cells;
use crate::specifications::key_value::{Ask, KeyValue, On};

/// An operation that happened: what it was, and what was seen unless it is in doubt.
struct Happened<S: Specification> {
    operation: S::Operation,
    seen: Option<S::Answer>,
}

/// A specification on trial. `ask` draws an operation.
struct Trial<S: Specification, F> {
    specification: S,
    initial: S::State,
    ask: F,
}

impl<S, F> Trial<S, F>
where
    S: Specification<State: Clone + Debug, Operation: Debug, Answer: Debug>,
    F: FnMut(&mut Random) -> S::Operation,
{
    fn of(mut specification: S, key: &S::Key, ask: F) -> Self {
        let initial = specification.initial(key);
        Trial { specification, initial, ask }
    }

    /// A random operation that happens in this state.
    fn happen(&mut self, random: &mut Random, state: &S::State) -> (Happened<S>, S::State) {
        let operation = (self.ask)(random);
        let answer = self.specification.answer(state, &operation);
        let seen = (!random.one_in(4)).then_some(answer);
        let happened = Happened { operation, seen };
        let next = self.after(state, &happened).expect("what is answered fits");
        (happened, next)
    }

    /// The state after it, if it fits.
    fn after(&mut self, state: &S::State, happened: &Happened<S>) -> Option<S::State> {
        match self.specification.step(state, &happened.operation, happened.seen.as_ref()) {
            Step::Refuted => None,
            Step::Same => Some(state.clone()),
            Step::Moved(next) => Some(next),
        }
    }

    fn walk(&mut self, random: &mut Random, from: &S::State, length: u64) -> (u64, S::State) {
        let (mut state, mut written) = (from.clone(), 0);
        for _ in 0..length {
            let (happened, next) = self.happen(random, &state);
            let seen = happened.seen.as_ref();
            written |= self.specification.footprint(&happened.operation, seen).writes;
            state = next;
        }
        (written, state)
    }

    /// Of two operations whose footprints do not meet the order is no matter; whether these.
    fn commute(&mut self, random: &mut Random) -> bool {
        let initial = self.initial.clone();
        let length = random.below(12);
        let (_, state) = self.walk(random, &initial, length);
        let (first, between) = self.happen(random, &state);
        let (second, end) = self.happen(random, &between);
        let [one, other] = [&first, &second].map(|happened| {
            self.specification.footprint(&happened.operation, happened.seen.as_ref())
        });
        if one.meets(other) {
            return false;
        }
        let turned = self.after(&state, &second).and_then(|state| self.after(&state, &first));
        let [first, second] = [first, second].map(|happened| (happened.operation, happened.seen));
        assert_eq!(turned, Some(end), "in {state:?} first {first:?}, then {second:?}");
        true
    }

    /// What an answer needs is written on every way to it; whether something was needed.
    fn is_met(&mut self, random: &mut Random) -> bool {
        let initial = self.initial.clone();
        let lengths = [random.below(12), random.below(4)];
        let (_, state) = self.walk(random, &initial, lengths[0]);
        let (written, end) = self.walk(random, &state, lengths[1]);
        let operation = (self.ask)(random);
        let seen = self.specification.answer(&end, &operation);
        let needs = self.specification.needs(&state, &operation, &seen);
        assert_eq!(needs & !written, 0, "from {state:?} to {end:?}: {operation:?} -> {seen:?}");
        needs != 0
    }

    /// Tries both laws many times; neither may be kept by never being asked for.
    fn holds(&mut self, seed: u64) {
        let (mut random, trials) = (Random(seed), 5 * histories());
        let commuted = (0..trials).filter(|_| self.commute(&mut random)).count() as u64;
        let needed = (0..trials).filter(|_| self.is_met(&mut random)).count() as u64;
        assert!(commuted > trials / 10, "{commuted} of {trials} pairs commute");
        assert!(needed > trials / 50, "{needed} of {trials} answers need something");
    }
}

#[test]
fn operations_of_a_session_keep_the_laws() {
    let operations = sessions::operations();
    let ask = |random: &mut Random| {
        let operation = &operations[random.below(operations.len() as u64) as usize];
        Asked { session: "s".into(), operation, recorded: 0 }
    };
    Trial::of(SessionSpecification::default(), &"s".into(), ask).holds(4);
}

#[test]
fn operations_of_cells_keep_the_laws() {
    Trial::of(Cells, &(), cells::ask).holds(5);
}

#[test]
fn operations_of_a_map_keep_the_laws() {
    const NAMES: usize = 3;
    let operations = (0..NAMES).flat_map(|name| {
        let changes = ["a", "b", "aa"].into_iter().flat_map(|text| {
            [Ask::Append(text.into()), Ask::Append(text.into()), Ask::Put(text.into())]
        });
        let asks = changes.chain(std::iter::repeat_n(Ask::Get, 6));
        asks.map(move |ask| On { name, ask })
    });
    let operations: Vec<On> = operations.collect();
    let ask = |random: &mut Random| random.one_of(&operations);
    Trial::of(KeyValue::whole(NAMES), &0, ask).holds(6);
}

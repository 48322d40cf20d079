//! Writers that take turns on one thread: every interleaving can be chosen, and replayed.
//!
//! A hook holds each operation at every point that the store names, so a turn takes one
//! operation from one point to the next. Who has the next turn is chosen by a
//! [`Chooser`]: at random, or as a schedule says. On a store that waits for nothing but
//! the hook, the turns decide everything.
//!
//! A store that also waits for something else (a disk, a server) works as well: a turn lasts
//! until the operation is at its next point. If it waits for a lock of one that is held
//! there, it would wait in vain; so after a while it is passed over, and goes on when it has
//! what it waited for. Such turns decide nearly everything.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use stagefault_models::{Hook, Point, Store};
use tokio::time::{Instant, Sleep, sleep_until};

use super::free::GRACE;
use super::run::{Execution, Run, Stopped};
use super::source::Source;
use crate::choices::Choices;

/// How long a turn lasts whose operation waits, perhaps in vain: long for a statement, and
/// short for whoever holds what it waits for.
const PATIENCE: Duration = Duration::from_millis(5);

/// An operation that reaches more points than that does not get anywhere.
const MAX_TURNS: u32 = 100_000;

/// Decides who has the next turn.
pub(super) trait Chooser {
    /// One of the open operations, or the call of the `next` one: `None`. Those that are
    /// `ready` can go on, and those that are `waiting` were passed over. Something is ready,
    /// or there is a next one.
    fn choose(&mut self, ready: &[u32], waiting: &[u32], next: Option<u32>) -> Option<u32>;
}

/// Chooses at random.
pub(super) struct Random<'a, C> {
    choices: &'a mut C,
    /// Out of four turns, how many are for whoever had the last one.
    stay: u32,
    /// Out of eight operations that had the last one, how many are then left where they are
    /// for a while: what they hold is held for longer than whole operations of others take.
    leave: u32,
    last: Option<u32>,
    /// Those that were left, each with the turn until which it is.
    left: Vec<(u32, u64)>,
    /// Those that can go on and were not left.
    present: Vec<u32>,
    turn: u64,
}

/// For how many turns an operation is left at most.
const LEFT: u32 = 48;

impl<'a, C: Choices> Random<'a, C> {
    /// Some episodes switch at every turn, others let operations run for a while.
    pub(super) fn new(choices: &'a mut C) -> Self {
        let stay = *choices.pick(&[0, 2, 3]);
        let leave = *choices.pick(&[0, 2, 4]);
        Random { choices, stay, leave, last: None, left: Vec::new(), present: Vec::new(), turn: 0 }
    }

    /// Leaves the last one, perhaps, and finds out who is not left.
    fn look_around(&mut self, ready: &[u32], last: Option<u32>) {
        let turn = self.turn;
        self.left.retain(|(_, until)| *until > turn);
        if let Some(last) = last.filter(|_| self.choices.chance(self.leave, 8)) {
            self.left.push((last, turn + u64::from(self.choices.below(LEFT))));
        }
        let was_left = |index: &u32| self.left.iter().any(|(left, _)| left == index);
        self.present.clear();
        self.present.extend(ready.iter().filter(|index| !was_left(index)));
    }
}

impl<C: Choices> Chooser for Random<'_, C> {
    fn choose(&mut self, ready: &[u32], _: &[u32], next: Option<u32>) -> Option<u32> {
        self.turn += 1;
        let last = self.last.filter(|last| ready.contains(last));
        if last.is_some() && self.choices.chance(self.stay, 4) {
            return last;
        }
        self.look_around(ready, last);
        let nobody = self.present.is_empty() && next.is_none();
        let present = if nobody { ready } else { &self.present[..] };
        let all = present.len() as u32 + u32::from(next.is_some());
        let chosen = present.get(self.choices.below(all) as usize).copied();
        self.last = chosen.or(next);
        chosen
    }
}

/// Chooses as a schedule says, and after its last turn in the schedule's order.
pub(super) struct Recorded<'a> {
    turns: std::slice::Iter<'a, u32>,
}

impl<'a> Recorded<'a> {
    pub(super) fn new(turns: &'a [u32]) -> Self {
        Recorded { turns: turns.iter() }
    }
}

impl Chooser for Recorded<'_> {
    fn choose(&mut self, ready: &[u32], waiting: &[u32], next: Option<u32>) -> Option<u32> {
        for turn in self.turns.by_ref() {
            if Some(*turn) == next {
                return None;
            }
            if ready.contains(turn) || waiting.contains(turn) {
                return Some(*turn);
            }
        }
        ready.iter().min().copied()
    }
}

/// Holds an operation once at each point.
#[derive(Default)]
struct Holding {
    /// Whether the turn ended at a point.
    held: AtomicBool,
}

impl Hook for Holding {
    fn reached(&self, _: Point) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Hold { holding: self, done: false })
    }
}

struct Hold<'a> {
    holding: &'a Holding,
    done: bool,
}

impl Future for Hold<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.done {
            return Poll::Ready(());
        }
        self.done = true;
        self.holding.held.store(true, Ordering::Relaxed);
        // Nobody is to be woken: the next turn polls again.
        Poll::Pending
    }
}

/// An operation that was called and has not returned.
struct Open<S> {
    index: u32,
    execution: Execution<S>,
    /// Whether it waits for something that is no turn, and was passed over.
    waits: bool,
    turns: u32,
}

struct Turns<S, C> {
    chooser: C,
    holding: Arc<Holding>,
    open: Vec<Open<S>>,
    /// The operation whose turn it is while it waits, and for how long it is.
    present: Option<(u32, Pin<Box<Sleep>>)>,
    /// Runs while everybody waits.
    limit: Option<Pin<Box<Sleep>>>,
    /// Those of the open operations that can go on, and those that were passed over.
    ready: Vec<u32>,
    waiting: Vec<u32>,
}

/// Runs the episode's operations by turns.
pub(super) async fn run<S: Store>(
    run: &mut Run<'_, S, impl Source>,
    chooser: impl Chooser,
) -> Result<(), (usize, Stopped)> {
    let mut turns = Turns {
        chooser,
        holding: Arc::default(),
        open: Vec::new(),
        present: None,
        limit: None,
        ready: Vec::new(),
        waiting: Vec::new(),
    };
    std::future::poll_fn(|context| turns.poll(run, context)).await
}

type Over = Result<(), (usize, Stopped)>;

impl<S: Store, C: Chooser> Turns<S, C> {
    fn poll(&mut self, run: &mut Run<'_, S, impl Source>, context: &mut Context<'_>) -> Poll<Over> {
        // Somebody was woken, and it is not known who.
        if let Err(stopped) = self.look_after_waiting(run, context) {
            return Poll::Ready(Err(stopped));
        }
        match self.go_on(run, context) {
            Poll::Ready(Ok(())) => {}
            other => return other,
        }
        loop {
            let can_call = run.can_call();
            if self.open.is_empty() && !can_call {
                return Poll::Ready(Ok(()));
            }
            self.waiting.clear();
            self.ready.clear();
            for open in &self.open {
                if open.waits { self.waiting.push(open.index) } else { self.ready.push(open.index) }
            }
            if self.ready.is_empty() && !can_call {
                return self.wait(run.deadline + GRACE, context);
            }
            self.limit = None;
            let next = can_call.then_some(run.history.operations.len() as u32);
            let place = match self.chooser.choose(&self.ready, &self.waiting, next) {
                Some(chosen) => self.open.iter().position(|open| open.index == chosen),
                None => self.call(run),
            };
            let Some(place) = place else { continue };
            run.turns.push(self.open[place].index);
            match self.turn(place, run, context) {
                Poll::Ready(Ok(())) => {}
                other => return other,
            }
        }
    }

    fn call(&mut self, run: &mut Run<'_, S, impl Source>) -> Option<usize> {
        let index = run.history.operations.len() as u32;
        let execution = run.call(Some(self.holding.clone()))?;
        self.open.push(Open { index, execution, waits: false, turns: 0 });
        Some(self.open.len() - 1)
    }

    /// Takes one operation to its next point, or to its end.
    fn turn(
        &mut self,
        place: usize,
        run: &mut Run<'_, S, impl Source>,
        context: &mut Context<'_>,
    ) -> Poll<Over> {
        let open = &mut self.open[place];
        let index = open.index;
        open.turns += 1;
        self.holding.held.store(false, Ordering::Relaxed);
        match open.execution.as_mut().poll(context) {
            Poll::Ready(ended) => {
                self.open.swap_remove(place);
                Poll::Ready(run.back(ended))
            }
            Poll::Pending if open.turns > MAX_TURNS => {
                Poll::Ready(Err((index as usize, Stopped::Hung)))
            }
            Poll::Pending if self.holding.held.load(Ordering::Relaxed) => Poll::Ready(Ok(())),
            Poll::Pending => {
                self.present = Some((index, Box::pin(sleep_until(Instant::now() + PATIENCE))));
                self.go_on(run, context)
            }
        }
    }

    /// Goes on with a turn whose operation waits, until it is at a point or was passed over.
    fn go_on(
        &mut self,
        run: &mut Run<'_, S, impl Source>,
        context: &mut Context<'_>,
    ) -> Poll<Over> {
        let Some((index, patience)) = &mut self.present else { return Poll::Ready(Ok(())) };
        let index = *index;
        let out_of_patience = patience.as_mut().poll(context).is_ready();
        let Some(place) = self.open.iter().position(|open| open.index == index) else {
            self.present = None;
            return Poll::Ready(Ok(()));
        };
        let open = &mut self.open[place];
        self.holding.held.store(false, Ordering::Relaxed);
        match open.execution.as_mut().poll(context) {
            Poll::Ready(ended) => {
                self.open.swap_remove(place);
                self.present = None;
                Poll::Ready(run.back(ended))
            }
            Poll::Pending if self.holding.held.load(Ordering::Relaxed) => {
                self.present = None;
                Poll::Ready(Ok(()))
            }
            Poll::Pending if out_of_patience => {
                open.waits = true;
                run.passed_over = true;
                self.present = None;
                Poll::Ready(Ok(()))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Finds out who of those that were passed over has what it waited for.
    fn look_after_waiting(
        &mut self,
        run: &mut Run<'_, S, impl Source>,
        context: &mut Context<'_>,
    ) -> Over {
        for place in (0..self.open.len()).rev() {
            let open = &mut self.open[place];
            if !open.waits {
                continue;
            }
            self.holding.held.store(false, Ordering::Relaxed);
            let index = open.index;
            match open.execution.as_mut().poll(context) {
                Poll::Ready(ended) => {
                    self.open.swap_remove(place);
                    run.turns.push(index);
                    run.back(ended)?;
                }
                Poll::Pending if self.holding.held.load(Ordering::Relaxed) => {
                    open.waits = false;
                    run.turns.push(index);
                }
                Poll::Pending => {}
            }
        }
        Ok(())
    }

    /// Everybody waits for something that is no turn: for so long, and no longer.
    fn wait(&mut self, time: Duration, context: &mut Context<'_>) -> Poll<Over> {
        let limit = self.limit.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + time)));
        match limit.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let oldest = self.open.iter().map(|open| open.index).min().unwrap_or(0);
                Poll::Ready(Err((oldest as usize, Stopped::Hung)))
            }
        }
    }
}

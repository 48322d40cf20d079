//! Stores that do not answer at all, or say that something is gone which is not; and a
//! schedule that fails no more.

use libtest_mimic::{Failed, Trial};
use stagefault_models::audit::Audit;
use stagefault_models::{
    Backend, BackendError, Capabilities, Completion, Id, Interleaving, Invariant, Namespaces,
    Operation, OperationKind, Point, Reply, Schedule, Scope, Store,
};
use stagefault_properties::concurrent::{Judgement, Lane, Plan, Replayer, judge, within};
use stagefault_properties::profile::Profile;
use stagefault_properties::script::{create, load, overlapping, request_interrupt, touch};
use stagefault_properties::shrink::{DEFAULT_ATTEMPTS, ShrinkError, shrink};
use stagefault_properties::violation::Violation;
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::{MemoryBackend, MemoryNamespaces, MemoryStore};

use crate::stores::block_on;

/// What a store does instead of answering.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trick {
    /// It panics when an interrupt is requested.
    Panics,
    /// It never answers such a request.
    Hangs,
    /// It goes from point to point for ever.
    Spins,
    /// It says that a session is deleted, and leaves it.
    Leaves,
}

impl Namespaces for Trick {
    type Backend = Tricky<MemoryBackend>;

    async fn fresh(&self) -> Result<Self::Backend, BackendError> {
        Ok(Tricky(MemoryBackend::open(Flaws::none()), *self))
    }
}

struct Tricky<T>(T, Trick);

impl Backend for Tricky<MemoryBackend> {
    type Store = Tricky<MemoryStore>;

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn store(&self) -> Result<Self::Store, BackendError> {
        Ok(Tricky(self.0.store().await?, self.1))
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        self.0.audit(sessions).await
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.0.reopen().await
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.0.remove().await
    }
}

impl Store for Tricky<MemoryStore> {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        match (operation.kind(), self.1) {
            // A panic but for the hook, which would print each of some hundred backtraces.
            (OperationKind::RequestInterrupt, Trick::Panics) => {
                std::panic::resume_unwind(Box::new("the trick"))
            }
            (OperationKind::RequestInterrupt, Trick::Hangs) => std::future::pending().await,
            (OperationKind::RequestInterrupt, Trick::Spins) => loop {
                scope.reach(Point::Acquire).await;
            },
            (OperationKind::DeleteSession, Trick::Leaves) => Completion::Done(Reply::Deleted),
            _ => self.0.execute(operation, scope).await,
        }
    }
}

/// Each of these stores, and a sound one.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("a_panic_breaks_liveness_and_is_shrunk", a_panic_is_found),
        Trial::test("a_store_that_never_answers_breaks_liveness", a_hang_is_found),
        Trial::test("a_store_that_gets_nowhere_breaks_liveness", a_spin_is_found),
        Trial::test("what_is_left_of_a_deleted_session_is_found", leftovers_are_found),
        Trial::test("what_fails_no_more_is_told_from_what_passes", what_fails_no_more),
    ]
}

const BY_TURNS: Interleaving = Interleaving::Turns(Vec::new());

/// Writer 1 requests an interrupt among other operations.
fn interrupting(interleaving: Interleaving) -> Schedule {
    let operations =
        [(0, create("s")), (1, touch("s", Some(5))), (1, request_interrupt("s")), (0, load("s"))];
    overlapping(interleaving, operations)
}

async fn violation_of(trick: Trick, schedule: &Schedule) -> Result<Violation, Failed> {
    let mut replayer = Replayer::new(&trick);
    let episode = replayer.replay(schedule).await?;
    replayer.close().await?;
    match judge(&episode, within(std::time::Duration::from_secs(60), 1 << 30)) {
        Judgement::Violation(violation) => Ok(*violation),
        other => Err(format!("{trick:?}: {other:?}").into()),
    }
}

#[track_caller]
fn is_about_the_request(violation: &Violation, words: &str) {
    assert_eq!(violation.invariant, Invariant::Liveness, "{violation}");
    assert_eq!(violation.operation, Some(OperationKind::RequestInterrupt), "{violation}");
    assert_eq!(violation.index, Some(2), "{violation}");
    assert!(violation.explanation[0].contains(words), "{violation}");
}

fn a_panic_is_found() -> Result<(), Failed> {
    block_on(async {
        for interleaving in [Interleaving::Free, BY_TURNS] {
            let schedule = interrupting(interleaving);
            is_about_the_request(
                &violation_of(Trick::Panics, &schedule).await?,
                "panicked: the trick",
            );
            let shrunk = shrink(&Trick::Panics, &schedule, DEFAULT_ATTEMPTS, |_| {}).await?;
            let failing = shrunk.failing;
            assert_eq!(failing.violation.invariant, Invariant::Liveness);
            assert_eq!(failing.schedule.operations.len(), 1, "{}", failing.schedule.to_json());
        }
        // The lane goes on, on a fresh namespace.
        let profile = Profile::from_name("crowded").ok_or("no such profile")?;
        let plan = Plan { profile, writers: 2, by_turns: true, swarm: false };
        let mut lane = Lane::new(&Trick::Panics, plan);
        let mut panicked = 0;
        for number in 0..8 {
            let episode = lane.run(number, number).await?;
            match judge(&episode, within(std::time::Duration::from_secs(60), 1 << 30)) {
                Judgement::Violation(violation) => {
                    assert_eq!(violation.invariant, Invariant::Liveness, "{violation}");
                    panicked += 1;
                }
                Judgement::Holds { .. } => {}
                Judgement::Undecided(why) => return Err(why.into()),
            }
        }
        assert!(panicked > 1, "{panicked} episodes requested an interrupt");
        Ok(())
    })?
}

/// It takes as long as the lane waits for an answer.
fn a_hang_is_found() -> Result<(), Failed> {
    block_on(async {
        let (free, by_turns) = (interrupting(Interleaving::Free), interrupting(BY_TURNS));
        let (free, by_turns) =
            tokio::join!(violation_of(Trick::Hangs, &free), violation_of(Trick::Hangs, &by_turns));
        is_about_the_request(&free?, "did not answer by its deadline");
        is_about_the_request(&by_turns?, "did not answer by its deadline");
        Ok(())
    })?
}

fn a_spin_is_found() -> Result<(), Failed> {
    block_on(async {
        let violation = violation_of(Trick::Spins, &interrupting(BY_TURNS)).await?;
        is_about_the_request(&violation, "did not answer by its deadline");
        Ok(())
    })?
}

fn leftovers_are_found() -> Result<(), Failed> {
    block_on(async {
        for interleaving in [Interleaving::Free, BY_TURNS] {
            let violation = violation_of(Trick::Leaves, &interrupting(interleaving)).await?;
            assert_eq!((violation.index, violation.operation), (None, None), "{violation}");
            assert!(violation.explanation[0].contains("rows of \"s\""), "{violation}");
        }
        Ok(())
    })?
}

fn what_fails_no_more() -> Result<(), Failed> {
    let sound = MemoryNamespaces { flaws: Flaws::none() };
    block_on(async {
        let by_turns = shrink(&sound, &interrupting(BY_TURNS), DEFAULT_ATTEMPTS, |_| {}).await;
        assert!(matches!(by_turns, Err(ShrinkError::Passes)), "{by_turns:?}");
        // Who runs freely may do otherwise the next time.
        let free = interrupting(Interleaving::Free);
        let free = shrink(&sound, &free, DEFAULT_ATTEMPTS, |_| {}).await;
        assert!(matches!(free, Err(ShrinkError::NotReproduced { replays: 50 })), "{free:?}");
        Ok(())
    })?
}

//! What faults leave behind is found, whatever the operations answer: a store that does
//! its faults itself, on memory, and that can do something wrong with each.

use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use stagefault_models::audit::{Audit, Finding};
use stagefault_models::{
    Backend, BackendError, Capabilities, Cause, Completion, Failure, Fault, FaultKind, Id,
    Interleaving, Invariant, Namespaces, Operation, OperationKind, Point, Reason, Receipt, Reply,
    Schedule, Scope, Store,
};
use stagefault_properties::concurrent::{Fired, Judgement, Replayer, judge, within};
use stagefault_properties::script::{create, load, overlapping, request_interrupt};
use stagefault_properties::violation::{EpisodeError, Violation};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::{MemoryBackend, MemoryStore};

use crate::stores::block_on;

/// What is wrong with the store, or nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// It says that it is done, and is not.
    DoneAndNotApplied,
    /// It says that it is done, though the answer was cut off.
    DoneAndCutOff,
    /// It says that it had no effect, and had.
    NotAppliedAndApplied,
    /// What it leaves in doubt takes effect, though nothing of it was delivered.
    AppliedUndelivered,
    /// It leaves something on the server.
    LeavesALock,
    /// Its handle does not work any more.
    StaysBroken,
    /// Its server does not come back.
    ServerIsGone,
}

impl Namespaces for Wrong {
    type Backend = Tormented;

    async fn fresh(&self) -> Result<Tormented, BackendError> {
        let backend = MemoryBackend::open(Flaws::none());
        Ok(Tormented { backend, wrong: *self })
    }
}

struct Tormented {
    backend: MemoryBackend,
    wrong: Wrong,
}

struct TormentedStore {
    store: MemoryStore,
    wrong: Wrong,
    planned: Option<Fault>,
    receipt: Option<Receipt>,
    /// How many operations are still to find the connection gone.
    broken: u32,
}

impl Backend for Tormented {
    type Store = TormentedStore;

    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    async fn store(&self) -> Result<TormentedStore, BackendError> {
        let (store, wrong) = (self.backend.store().await?, self.wrong);
        Ok(TormentedStore { store, wrong, planned: None, receipt: None, broken: 0 })
    }

    async fn audit(&self, sessions: &[Id]) -> Result<Audit, BackendError> {
        self.backend.audit(sessions).await
    }

    async fn settle(&mut self) -> Result<Vec<Finding>, BackendError> {
        let finding = |text: &str| Finding {
            session: None,
            invariant: Invariant::Liveness,
            text: text.to_owned(),
        };
        match self.wrong {
            Wrong::ServerIsGone => Err(BackendError::Unreachable {
                location: "the server".to_owned(),
                reason: "it does not start".to_owned(),
            }),
            Wrong::LeavesALock => Ok(vec![finding("a lock is held")]),
            _ => Ok(Vec::new()),
        }
    }

    async fn reopen(&mut self) -> Result<(), BackendError> {
        self.backend.reopen().await
    }

    async fn remove(self) -> Result<(), BackendError> {
        self.backend.remove().await
    }
}

fn failure() -> Failure {
    Failure { cause: Cause::Connection, reason: Reason("cut".to_owned()) }
}

impl Store for TormentedStore {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        if self.broken > 0 {
            self.broken -= 1;
            return Completion::NotApplied(failure());
        }
        let Some(fault) = self.planned.take() else {
            return self.store.execute(operation, scope).await;
        };
        let applied = matches!(fault, Fault::At { point: Point::CommitDelivered, .. });
        if applied || self.wrong == Wrong::AppliedUndelivered {
            self.store.execute(operation, scope).await;
        }
        self.receipt = Some(Receipt { fault, applied: Some(applied) });
        self.broken = if self.wrong == Wrong::StaysBroken { u32::MAX } else { 1 };
        match self.wrong {
            Wrong::DoneAndNotApplied | Wrong::DoneAndCutOff => {
                Completion::Done(Reply::InterruptRequested)
            }
            Wrong::NotAppliedAndApplied => Completion::NotApplied(failure()),
            _ => Completion::Unknown(failure()),
        }
    }

    fn plan(&mut self, fault: Option<Fault>) {
        self.planned = fault;
        self.receipt = None;
    }

    fn receipt(&mut self) -> Option<Receipt> {
        self.receipt.take()
    }
}

/// Each of these stores.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("what_faults_leave_behind_is_found", each_is_found),
        Trial::test("what_is_left_behind_without_a_fault_is_found_too", left_without_a_fault),
        Trial::test("a_server_that_is_gone_is_trouble_and_no_violation", a_server_that_is_gone),
        Trial::test("a_receipt_decides_what_was_in_doubt", a_receipt_decides),
        Trial::test("an_answer_that_was_cut_off_is_never_passed_over", an_answer_cut_off),
    ]
}

/// Writer 1 requests an interrupt, and meets a fault at this point.
fn schedule(point: Point) -> Schedule {
    let operations = [(0, create("s")), (1, request_interrupt("s")), (0, load("s"))];
    let mut schedule = overlapping(Interleaving::Free, operations);
    schedule.operations[1].fault = Some(Fault::At { point, kind: FaultKind::Reset });
    schedule
}

async fn judged(wrong: Wrong, point: Point) -> Result<(Judgement, Fired), EpisodeError> {
    judged_on(&schedule(point), wrong).await
}

async fn judged_on(schedule: &Schedule, wrong: Wrong) -> Result<(Judgement, Fired), EpisodeError> {
    let mut replayer = Replayer::new(&wrong);
    let episode = replayer.replay(schedule).await?;
    replayer.close().await?;
    let judgement = judge(&episode, within(Duration::from_secs(60), 1 << 30));
    let mut fired = Fired::default();
    fired.count(&episode, &judgement);
    Ok((judgement, fired))
}

async fn violation(wrong: Wrong, point: Point) -> Result<Violation, Failed> {
    let (judgement, fired) = judged(wrong, point).await?;
    assert_eq!(fired.total().violations, 1, "{wrong:?}: {judgement:?}");
    judgement.violation().ok_or_else(|| format!("{wrong:?} was not found").into())
}

fn each_is_found() -> Result<(), Failed> {
    block_on(async {
        let (sent, delivered) = (Point::CommitSent, Point::CommitDelivered);
        let untrue = violation(Wrong::DoneAndNotApplied, sent).await?;
        assert_eq!((untrue.invariant, untrue.index), (Invariant::Truth, Some(1)), "{untrue}");
        assert!(untrue.explanation[0].contains("was not applied"), "{untrue}");
        let untrue = violation(Wrong::NotAppliedAndApplied, delivered).await?;
        assert_eq!((untrue.invariant, untrue.index), (Invariant::Truth, Some(1)), "{untrue}");
        assert!(untrue.explanation[0].contains("was applied"), "{untrue}");
        let order = violation(Wrong::AppliedUndelivered, sent).await?;
        assert_eq!(order.operation, Some(OperationKind::Load), "{order}");
        let left = violation(Wrong::LeavesALock, sent).await?;
        assert_eq!((left.invariant, left.operation), (Invariant::Liveness, None), "{left}");
        assert_eq!(left.explanation, ["left behind: a lock is held"]);
        let broken = violation(Wrong::StaysBroken, sent).await?;
        let kind = Some(OperationKind::Load);
        assert_eq!((broken.invariant, broken.operation), (Invariant::Liveness, kind), "{broken}");
        assert!(broken.explanation[0].contains("no more faults came"), "{broken}");
        Ok(())
    })?
}

fn left_without_a_fault() -> Result<(), Failed> {
    block_on(async {
        let calm = overlapping(Interleaving::Free, [(0, create("s"))]);
        let (judgement, _) = judged_on(&calm, Wrong::LeavesALock).await?;
        let left = judgement.violation().ok_or("the lock was not found")?;
        assert_eq!(left.explanation, ["left behind: a lock is held"]);
        Ok(())
    })?
}

fn a_server_that_is_gone() -> Result<(), Failed> {
    let judged = block_on(judged(Wrong::ServerIsGone, Point::CommitSent))?;
    assert!(matches!(judged, Err(EpisodeError::Backend(BackendError::Unreachable { .. }))));
    Ok(())
}

fn a_receipt_decides() -> Result<(), Failed> {
    block_on(async {
        for (point, applied) in [(Point::CommitSent, false), (Point::CommitDelivered, true)] {
            let (judgement, fired) = judged(Wrong::Nothing, point).await?;
            let Judgement::Holds { .. } = &judgement else {
                return Err(format!("{judgement:?}").into());
            };
            let total = fired.total();
            assert_eq!((total.attempted, total.fired, total.violations), (1, 1, 0));
            let counted = (total.unknown_applied, total.unknown_not_applied);
            assert_eq!(counted, if applied { (1, 0) } else { (0, 1) });
        }
        Ok(())
    })?
}

fn an_answer_cut_off() -> Result<(), Failed> {
    let (judgement, _) = block_on(judged(Wrong::DoneAndCutOff, Point::CommitDelivered))??;
    let Judgement::Undecided(why) = judgement else { return Err(format!("{judgement:?}").into()) };
    assert!(why.contains("(Reset at CommitDelivered)") && why.contains("one of them is wrong"));
    Ok(())
}

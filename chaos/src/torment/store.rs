//! A writer's handle that meets faults: an operation is held at a point, and the fault done
//! to it there.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use stagefault_models::{
    Cause, Completion, Failure, Fault, FaultKind, Operation, Point, Reason, Receipt, Scope, Store,
};
use stagefault_stores::postgres::{PostgresStore, Route};
use tokio::{join, select};

use super::backend::{Scene, Seat};
use super::contest::{Rival, settings};
use super::plan::Plan;
use super::point::HeldAt;
use super::room;
use super::server::{Blow, Met, Outage};
use crate::proxy::Line;

/// One writer's handle, whose operations meet the faults that they are told to.
///
/// A fault that [`Available`](super::Available) does not have, or that cannot be done when it
/// comes to it, is not done and leaves no receipt.
pub struct TormentedStore {
    inner: PostgresStore,
    seat: Arc<Seat>,
    scene: Arc<Scene>,
    met: Met,
    planned: Option<Fault>,
    receipt: Option<Receipt>,
}

/// How an operation ended.
struct Course {
    completion: Completion,
    /// Whether the fault was done, if it is none that the line does.
    struck: bool,
    /// The server is away until this is dropped.
    _outage: Option<Outage>,
}

impl Course {
    fn of(completion: Completion, struck: bool) -> Self {
        Course { completion, struck, _outage: None }
    }
}

/// What was done to an operation that is held.
struct Struck {
    fired: bool,
    outage: Option<Outage>,
}

impl TormentedStore {
    pub(super) fn new(inner: PostgresStore, seat: Arc<Seat>, scene: Arc<Scene>) -> Self {
        TormentedStore { inner, seat, scene, met: Met::default(), planned: None, receipt: None }
    }

    /// The fault that is planned, if it can be done to this operation.
    fn plan_for(&mut self, operation: &Operation) -> Option<Plan> {
        let Some(Fault::At { point, kind }) = self.planned.take() else { return None };
        self.scene.available.outcome(operation.kind(), point, kind)?;
        Some(Plan { point, kind })
    }

    /// Sees to it that the handle's connection goes through a line, and that its session has
    /// the settings for this. Whether it is so.
    async fn prepare(&mut self, plan: Plan) -> bool {
        if !self.seat.line.initialized() {
            let Some(upstream) = self.scene.upstream.clone() else { return false };
            let Ok(line) = Line::open(upstream).await else { return false };
            // Connected or not, this is its way from now on.
            let port = Some(line.port());
            let is_new = self.seat.line.set(line).is_ok();
            if !is_new || self.inner.reroute(Route { port }).await.is_err() {
                return false;
            }
        }
        !plan.changes_settings() || self.inner.set(&settings(plan.kind)).await.is_ok()
    }

    /// Executes an operation that is to meet this.
    async fn tormented(
        &mut self,
        plan: Plan,
        operation: &Operation,
        scope: &Scope<'_>,
    ) -> Completion {
        if plan.needs_line() && !self.prepare(plan).await {
            return self.inner.execute(operation, scope).await;
        }
        let completion = self.meet(plan, operation, scope).await;
        if plan.changes_settings() {
            // A connection that does not take them back is broken, or in a transaction still:
            // that is for the next operation to meet.
            let _ = self.inner.unset(&settings(plan.kind)).await;
        }
        completion
    }

    /// Executes an operation that meets this.
    async fn meet(&mut self, plan: Plan, operation: &Operation, scope: &Scope<'_>) -> Completion {
        let (inner, scene, line) = (&mut self.inner, &*self.scene, self.seat.line.get());
        let line = line.filter(|_| plan.needs_line());
        if let Some(line) = line {
            // A new operation begins, also where no fault waits on the wire.
            line.begin(inner.backend().await, plan.armed());
        }
        let hook = HeldAt::new(plan.point, scope.hook);
        let scope = Scope { deadline: plan.deadline(scope.deadline), hook: Some(&hook) };
        let execution = inner.execute(operation, &scope);
        let course = plan.run(operation, execution, &hook, scene, line).await;
        let answer = line.and_then(Line::answer);
        let seen = line.and_then(Line::disarm);
        let fired = match plan.kind {
            FaultKind::DiskFull => room::is_missing(answer.as_ref()),
            _ if plan.wire_kind().is_some() => seen.is_some(),
            _ => course.struck,
        };
        self.receipt =
            fired.then(|| Receipt { fault: plan.fault(), applied: plan.applied(seen.as_ref()) });
        course.completion
    }
}

impl Plan {
    /// Executes the operation, and when it is at the point does this to it.
    async fn run(
        self,
        operation: &Operation,
        execution: impl Future<Output = Completion>,
        hook: &HeldAt<'_>,
        scene: &Scene,
        line: Option<&Line>,
    ) -> Course {
        let course = {
            let mut execution = pin!(execution);
            let completion = select! {
                biased;
                completion = &mut execution => Some(completion),
                () = hook.arrival() => None,
                () = self.is_held_by(line) => None,
            };
            if let Some(completion) = completion {
                return Course::of(completion, false);
            }
            if self.kind == FaultKind::CallerGone {
                if self.point == Point::Begin {
                    // The transaction is asked for, and the caller goes before it is there.
                    hook.let_go();
                    let once = poll_fn(|context| Poll::Ready(execution.as_mut().poll(context)));
                    let _ = once.await;
                }
                Course::of(gone(), true)
            } else if self.is_contest() {
                self.contest(operation, execution, hook, scene, line).await
            } else {
                let Struck { fired, outage } = self.strike(scene, line).await;
                hook.let_go();
                let completion = execution.await;
                Course { completion, struck: fired, _outage: outage }
            }
        };
        // The operation is over, or dropped: what is held of it has nobody to go to.
        if self.wire_kind().is_none()
            && let Some(line) = line
        {
            line.heal();
        }
        course
    }

    /// Has a rival get in the way of an operation that is held.
    async fn contest(
        self,
        operation: &Operation,
        mut execution: Pin<&mut impl Future<Output = Completion>>,
        hook: &HeldAt<'_>,
        scene: &Scene,
        line: Option<&Line>,
    ) -> Course {
        let rival = Rival::of(operation, self.kind, scene).await;
        hook.let_go();
        let (Ok(mut rival), Some(backend)) = (rival, line.and_then(Line::backend)) else {
            return Course::of(execution.await, false);
        };
        let completion = select! {
            biased;
            completion = &mut execution => Some(completion),
            () = rival.until_in_the_way_of(backend) => None,
        };
        let course = match completion {
            Some(completion) => Course::of(completion, false),
            None => {
                let (completion, certain) = join!(execution, rival.press());
                Course::of(completion, certain)
            }
        };
        rival.retire().await;
        course
    }

    /// Returns when the line holds the operation, if it is to.
    async fn is_held_by(self, line: Option<&Line>) {
        match line {
            Some(line) if self.is_on_the_wire() && self.wire_kind().is_none() => {
                line.fired().await;
            }
            _ => std::future::pending().await,
        }
    }

    /// Does it to an operation that is held.
    async fn strike(self, scene: &Scene, line: Option<&Line>) -> Struck {
        let mut struck = Struck { fired: false, outage: None };
        match (self.kind, line) {
            (FaultKind::ServerKill, _) => struck.outage = scene.strike(Blow::Kill).await,
            (FaultKind::ServerStop, _) => struck.outage = scene.strike(Blow::Stop).await,
            (FaultKind::Terminate, Some(line)) => {
                if let Some(backend) = line.backend() {
                    struck.fired = scene.admin.terminate(backend).await.unwrap_or(false);
                }
            }
            (FaultKind::IdleTimeout, Some(line)) => {
                if let Some(backend) = line.backend() {
                    struck.fired = scene.admin.until_gone(backend).await.is_ok();
                }
            }
            (_, Some(line)) => self.wire_kind().into_iter().for_each(|kind| line.cut_now(kind)),
            (_, None) => {}
        }
        struck.fired |= struck.outage.is_some();
        if let Some(line) = line.filter(|_| self.is_on_the_wire()) {
            self.release(line).await;
        }
        struck
    }

    /// Lets the line go on after the server's end of the connection is gone: a commit is
    /// delivered to nobody, and an answer that was held is lost with the server.
    async fn release(self, line: &Line) {
        if self.point == Point::CommitSent {
            line.go_on().await;
        } else {
            line.heal();
        }
    }
}

impl Scene {
    async fn strike(&self, blow: Blow) -> Option<Outage> {
        self.server.as_ref()?.strike(blow).await
    }
}

impl Store for TormentedStore {
    async fn execute(&mut self, operation: &Operation, scope: &Scope<'_>) -> Completion {
        if let Some(server) = &self.scene.server {
            server.endure(&mut self.met).await;
        }
        match self.plan_for(operation) {
            Some(plan) => self.tormented(plan, operation, scope).await,
            None => self.inner.execute(operation, scope).await,
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

fn gone() -> Completion {
    let reason = Reason("injected: the caller went away".to_owned());
    Completion::Unknown(Failure { cause: Cause::Connection, reason })
}

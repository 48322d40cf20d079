//! Holding an operation at a point, so that a fault can be done there.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use stagefault_models::{Hook, Point};
use tokio::sync::Notify;

/// The hook of an operation that is to be held at one point, the first time that it gets
/// there. The caller's own hook hears of every point, and of that one first.
pub(super) struct HeldAt<'a> {
    point: Point,
    caller: Option<&'a dyn Hook>,
    was_there: AtomicBool,
    arrived: Notify,
    may_go_on: Notify,
}

impl<'a> HeldAt<'a> {
    pub(super) fn new(point: Point, caller: Option<&'a dyn Hook>) -> Self {
        let (arrived, may_go_on) = (Notify::new(), Notify::new());
        HeldAt { point, caller, was_there: AtomicBool::new(false), arrived, may_go_on }
    }

    /// Returns when the operation is held at the point.
    pub(super) async fn arrival(&self) {
        self.arrived.notified().await;
    }

    /// Lets the operation go on.
    pub(super) fn let_go(&self) {
        self.may_go_on.notify_one();
    }
}

impl Hook for HeldAt<'_> {
    fn reached(&self, point: Point) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            if let Some(caller) = self.caller {
                caller.reached(point).await;
            }
            if point == self.point && !self.was_there.swap(true, Ordering::Relaxed) {
                self.arrived.notify_one();
                self.may_go_on.notified().await;
            }
        })
    }
}

//! Holding an operation at a point: for good, until its caller goes away, or for a while.

use std::future::pending;
use std::pin::Pin;
use std::sync::Mutex;

use stagefault_models::{Hook, Operation, Point, Scope, Store};
use tokio::sync::Notify;

/// Holds an operation for ever at one point, and tells that it got there.
pub struct HoldAt {
    point: Point,
    pub there: Notify,
}

impl HoldAt {
    pub fn new(point: Point) -> Self {
        HoldAt { point, there: Notify::new() }
    }
}

impl Hook for HoldAt {
    fn reached(&self, point: Point) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            if point == self.point {
                self.there.notify_one();
                pending::<()>().await;
            }
        })
    }
}

/// Drops the operation when it has come to the point.
pub async fn drop_at(store: &mut impl Store, operation: &Operation, point: Point) {
    let hook = HoldAt::new(point);
    let scope = Scope { hook: Some(&hook), ..Scope::default() };
    tokio::select! {
        completion = store.execute(operation, &scope) => panic!("{point:?}: {completion:?}"),
        () = hook.there.notified() => {}
    }
}

/// Does something at one point, once, and then lets the operation go on.
pub struct Once<F> {
    point: Point,
    work: Mutex<Option<F>>,
}

impl<F> Once<F> {
    pub fn at(point: Point, work: F) -> Self {
        Once { point, work: Mutex::new(Some(work)) }
    }
}

impl<F: Future<Output = ()> + Send> Hook for Once<F> {
    fn reached(&self, point: Point) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let work = match self.work.lock() {
                Ok(mut work) if point == self.point => work.take(),
                _ => None,
            };
            if let Some(work) = work {
                work.await;
            }
        })
    }
}

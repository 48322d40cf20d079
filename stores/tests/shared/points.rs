//! Which points each kind of operation reaches, as a table that a plan of faults can rely on.

use std::fmt::Write;
use std::pin::Pin;
use std::sync::Mutex;

use stagefault_models::{
    Backend, Completion, Hook, Operation, OperationKind, Point, Scope, Status, Store,
};

use super::requests::{append, create, delete, done, handle, load, message, promote, set, stage};

/// Keeps the points that an operation reaches.
#[derive(Default)]
struct Reached(Mutex<Vec<Point>>);

impl Hook for Reached {
    fn reached(&self, point: Point) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().expect("nobody panicked").push(point);
        Box::pin(std::future::ready(()))
    }
}

/// What was done before, and the operation whose points are wanted.
type Case = (Vec<Operation>, Operation);

/// A line for each case: the operation, what came of it, and the points in order.
pub async fn table(backend: &impl Backend) -> String {
    let mut store = handle(backend).await;
    let mut lines = String::new();
    for (before, operation) in cases() {
        for operation in before {
            done(&mut store, operation).await;
        }
        let reached = Reached::default();
        let scope = Scope { hook: Some(&reached), ..Scope::default() };
        let completion = store.execute(&operation, &scope).await;
        let became = match completion {
            Completion::Done(_) => "Done".to_owned(),
            other => format!("{:?}", other.kind()),
        };
        let points = reached.0.into_inner().expect("nobody panicked");
        let points: Vec<String> = points.iter().map(|point| format!("{point:?}")).collect();
        let name = format!("{:?}", operation.kind());
        writeln!(lines, "{name:<19} {became:<15} {}", points.join(" ")).expect("it is a string");
        // Each case begins with nothing.
        store.execute(&delete("s"), &Scope::default()).await;
    }
    lines
}

/// Every kind of operation that writes: when it does, and when it finds nothing to write or
/// is refused. A read for comparison.
fn cases() -> Vec<Case> {
    let cases = [sessions(), staging(), messages(), coordination(), calls(), sweeps()].concat();
    for kind in OperationKind::ALL {
        assert!(cases.iter().any(|(_, operation)| operation.kind() == kind), "{kind:?}");
    }
    cases
}

fn touch(expires_at: Option<u64>) -> Operation {
    Operation::Touch { session: "s".into(), expires_at }
}

fn sessions() -> Vec<Case> {
    vec![
        (vec![], create("s")),
        (vec![create("s")], create("s")),
        (vec![create("s")], delete("s")),
        (vec![], delete("s")),
        (vec![create("s")], load("s")),
        (vec![create("s")], touch(Some(1))),
        (vec![], touch(None)),
    ]
}

fn staging() -> Vec<Case> {
    let staged = || stage("s", "t", "c", vec![set("k", 1)]);
    let promotion = |version| promote("s", "t", version, vec![set("k", 2)], vec![message("m", 1)]);
    let discard = || Operation::Discard { session: "s".into(), step: "t".into() };
    vec![
        (vec![create("s")], staged()),
        (vec![create("s"), promotion(1)], staged()),
        (vec![create("s"), staged()], discard()),
        (vec![create("s")], discard()),
        (vec![create("s"), staged()], promotion(1)),
        (vec![create("s")], promote("s", "t", 1, vec![], vec![])),
        (vec![create("s"), staged()], promotion(7)),
        (vec![create("s"), promotion(1)], promotion(2)),
    ]
}

fn messages() -> Vec<Case> {
    let two = || append("s", vec![message("m", 1), message("n", 1)]);
    let read = Operation::ReadMessages { session: "s".into(), offset: 0, limit: 9 };
    vec![
        (vec![create("s")], two()),
        (vec![create("s"), two()], two()),
        (vec![create("s"), two()], append("s", vec![message("m", 2)])),
        (vec![create("s")], read),
    ]
}

fn coordination() -> Vec<Case> {
    let set_status = |from| Operation::CompareAndSetStatus {
        session: "s".into(),
        from: vec![from],
        to: Status::Completed,
    };
    let begin = || Operation::BeginRun { session: "s".into(), run: "r".into() };
    let request = || Operation::RequestInterrupt { session: "s".into() };
    let consume = || Operation::ConsumeInterrupt { session: "s".into() };
    vec![
        (vec![create("s")], set_status(Status::Active)),
        (vec![create("s")], set_status(Status::Failed)),
        (vec![create("s")], begin()),
        (vec![create("s"), begin()], begin()),
        (vec![create("s")], request()),
        (vec![create("s"), request()], consume()),
        (vec![create("s")], consume()),
    ]
}

fn register() -> Operation {
    let (session, call, run) = ("s".into(), "c".into(), "r".into());
    Operation::RegisterCall { session, call, run, deadline: 5 }
}

fn calls() -> Vec<Case> {
    let submit = |now| {
        let (session, call, run) = ("s".into(), "c".into(), "r".into());
        Operation::SubmitResult { session, call, run, result: 1.into(), now }
    };
    vec![
        (vec![create("s")], register()),
        (vec![create("s"), register()], register()),
        (vec![create("s"), register()], submit(4)),
        (vec![create("s"), register()], submit(5)),
    ]
}

fn sweeps() -> Vec<Case> {
    let expire = || Operation::ExpireCalls { now: 5 };
    let cleanup = || Operation::Cleanup { now: 5, staging_ttl: 0 };
    vec![
        (vec![create("s"), register()], expire()),
        (vec![create("s")], expire()),
        (vec![create("s"), touch(Some(5))], cleanup()),
        (vec![create("s"), stage("s", "t", "c", vec![])], cleanup()),
        (vec![create("s")], cleanup()),
    ]
}

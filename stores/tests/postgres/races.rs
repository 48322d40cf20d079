//! Two writers who meet in one session, by chance and at a chosen moment.

use std::sync::Mutex;

use stagefault_models::{
    Backend, Completion, Hook, Operation, Point, Refusal, Reply, Scope, Status, Store, Value,
};
use stagefault_stores::postgres::{PostgresBackend, PostgresStore};

use crate::shared::hold::Once;
use crate::support::*;

tests![
    a_stage_is_applied_or_refused_and_never_lost,
    staging_of_another_step_survives_a_promote,
    what_is_staged_while_a_promote_computes_is_applied,
    a_promote_overtaken_twice_takes_the_session_first,
    a_promote_is_not_disturbed_by_a_stage_of_another_step,
    a_promote_goes_round_for_a_stage_of_its_step_among_others,
    a_promote_that_waited_for_a_stage_leaves_nothing_of_its_step_behind,
    an_append_is_not_disturbed_by_a_stage,
    a_promote_does_not_carry_over_what_a_deleted_session_held,
    a_discard_counts_what_it_drops,
    a_status_set_while_a_promote_computes_makes_it_stale,
    a_deletion_among_writers_leaves_no_row,
];

async fn with_session(server: &Server) -> (PostgresBackend, PostgresStore, PostgresStore) {
    let backend = server.schema().await;
    let (mut one, two) = (handle(&backend).await, handle(&backend).await);
    done(&mut one, create("s")).await;
    (backend, one, two)
}

async fn a_stage_is_applied_or_refused_and_never_lost(server: Server) {
    let (backend, mut one, mut two) = with_session(&server).await;
    for version in 1..=60 {
        let step = format!("t{version}");
        let (staged, promoted) = tokio::join!(
            execute(&mut one, stage("s", &step, "c", vec![set(&step, 1)])),
            done(&mut two, promote("s", &step, version, vec![], vec![])),
        );
        let Reply::Promoted { applied, .. } = promoted else { panic!("{promoted:?}") };
        match staged {
            Completion::Done(Reply::Staged) => assert_eq!(applied, 1),
            Completion::Refused(Refusal::StepClosed) => assert_eq!(applied, 0),
            other => panic!("{other:?}"),
        }
        let after = snapshot(&mut two, "s").await;
        assert!(after.staged.is_empty());
        assert_eq!(after.state.get(&step.as_str().into()).is_some(), applied == 1);
    }
    remove(&server, backend).await;
}

async fn staging_of_another_step_survives_a_promote(server: Server) {
    let (backend, mut one, mut two) = with_session(&server).await;
    for version in 1..=40 {
        let (step, later) = (format!("t{version}"), format!("u{version}"));
        tokio::join!(
            done(&mut one, stage("s", &later, "c", vec![])),
            done(&mut two, promote("s", &step, version, vec![], vec![])),
        );
        assert_eq!(snapshot(&mut two, "s").await.staged.len() as u64, version);
    }
    remove(&server, backend).await;
}

/// Executes an operation while something else happens at one of its points.
async fn meanwhile(
    store: &mut PostgresStore,
    operation: &Operation,
    point: Point,
    work: impl Future<Output = ()> + Send,
) -> Completion {
    let hook = Once::at(point, work);
    store.execute(operation, &Scope { hook: Some(&hook), ..Scope::default() }).await
}

async fn what_is_staged_while_a_promote_computes_is_applied(server: Server) {
    let (backend, mut one, mut two) = with_session(&server).await;
    done(&mut one, stage("s", "t", "early", vec![set("early", 1)])).await;
    for point in [Point::Statement(1), Point::BeforeCommit] {
        let version = snapshot(&mut two, "s").await.version;
        let step = format!("t{version}");
        let promote = promote("s", &step, version, vec![], vec![]);
        let late = async {
            done(&mut two, stage("s", &step, "late", vec![set(&step, 1)])).await;
        };
        let promoted = meanwhile(&mut one, &promote, point, late).await;
        let reply = Reply::Promoted { version: version + 1, applied: 1, appended: 0 };
        assert_eq!(promoted, Completion::Done(reply));
        assert!(snapshot(&mut two, "s").await.state.get(&step.as_str().into()).is_some());
    }
    remove(&server, backend).await;
}

/// Has another writer do something each time that an operation has read, and notes all points.
struct Overtaking {
    other: tokio::sync::Mutex<PostgresStore>,
    operations: Mutex<std::vec::IntoIter<Operation>>,
    points: Mutex<Vec<Point>>,
}

impl Hook for Overtaking {
    fn reached(&self, point: Point) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            self.points.lock().expect("nobody panicked").push(point);
            let next = || self.operations.lock().expect("nobody panicked").next();
            if matches!(point, Point::Statement(_))
                && let Some(operation) = next()
            {
                done(&mut *self.other.lock().await, operation).await;
            }
        })
    }
}

/// Executes an operation, and after each of its reads the next of the other writer's. Answers
/// what became of it, and the points between `Acquire` and `Reply`.
async fn overtaken(
    store: &mut PostgresStore,
    operation: &Operation,
    by: PostgresStore,
    operations: Vec<Operation>,
) -> (Completion, Vec<Point>) {
    let operations = Mutex::new(operations.into_iter());
    let hook = Overtaking { other: by.into(), operations, points: Mutex::default() };
    let scope = Scope { hook: Some(&hook), ..Scope::default() };
    let completion = store.execute(operation, &scope).await;
    let mut points = hook.points.into_inner().expect("nobody panicked");
    points.retain(|point| !matches!(point, Point::Acquire | Point::Reply));
    (completion, points)
}

const ONE_ROUND: [Point; 2] = [Point::Statement(1), Point::BeforeCommit];
const TWO_ROUNDS: [Point; 4] =
    [Point::Statement(1), Point::BeforeCommit, Point::Statement(2), Point::BeforeCommit];

async fn a_promote_overtaken_twice_takes_the_session_first(server: Server) {
    let (backend, mut one, two) = with_session(&server).await;
    let operation = promote("s", "t", 1, vec![], vec![message("m", 1)]);
    let stages = vec![stage("s", "t", "c", vec![]), stage("s", "t", "d", vec![])];
    let (promoted, points) = overtaken(&mut one, &operation, two, stages).await;
    let reply = Reply::Promoted { version: 2, applied: 2, appended: 1 };
    assert_eq!(promoted, Completion::Done(reply));
    let under_the_lock = [
        Point::Begin,
        Point::Statement(3),
        Point::Statement(4),
        Point::Statement(5),
        Point::BeforeCommit,
    ];
    assert_eq!(points, [&TWO_ROUNDS[..], &under_the_lock].concat());
    remove(&server, backend).await;
}

/// The staged calls of other steps are there after it, too.
async fn a_promote_is_not_disturbed_by_a_stage_of_another_step(server: Server) {
    for staged_before in [vec![], vec!["t"], vec!["u"], vec!["t", "u"]] {
        let (backend, mut one, two) = with_session(&server).await;
        for step in &staged_before {
            done(&mut one, stage("s", step, "before", vec![set(step, 1)])).await;
        }
        let operation = promote("s", "t", 1, vec![], vec![]);
        let late = vec![stage("s", "u", "late", vec![])];
        let (promoted, points) = overtaken(&mut one, &operation, two, late).await;
        let applied = u64::from(staged_before.contains(&"t"));
        let reply = Reply::Promoted { version: 2, applied, appended: 0 };
        assert_eq!(promoted, Completion::Done(reply));
        assert_eq!(points, ONE_ROUND);
        let after = snapshot(&mut one, "s").await;
        assert_eq!(after.staged.len(), 1 + usize::from(staged_before.contains(&"u")));
        assert!(after.staged.iter().all(|mark| mark.step == "u".into()), "{after:?}");
        assert_eq!(after.state.len() as u64, applied);
        remove(&server, backend).await;
    }
}

/// A stage of another step that comes last does not hide one of the same step before.
async fn a_promote_goes_round_for_a_stage_of_its_step_among_others(server: Server) {
    for steps in [vec!["t"], vec!["t", "u"], vec!["u", "t"], vec!["u", "t", "u"], vec!["u", "u"]] {
        let (backend, mut one, mut two) = with_session(&server).await;
        let operation = promote("s", "t", 1, vec![], vec![]);
        let late = async {
            for (number, step) in steps.iter().enumerate() {
                done(&mut two, stage("s", step, &format!("c{number}"), vec![])).await;
            }
        };
        let promoted = meanwhile(&mut one, &operation, Point::Statement(1), late).await;
        let applied = u64::from(steps.contains(&"t"));
        let reply = Reply::Promoted { version: 2, applied, appended: 0 };
        assert_eq!(promoted, Completion::Done(reply), "{steps:?}");
        let after = snapshot(&mut one, "s").await;
        assert_eq!(after.staged.len() as u64, steps.len() as u64 - applied);
        assert!(after.staged.iter().all(|mark| mark.step == "u".into()), "{after:?}");
        remove(&server, backend).await;
    }
}

/// A promote's write waits for a stage that has not committed yet, and judges by what that
/// one leaves, while the rest of the statement does not see it.
async fn a_promote_that_waited_for_a_stage_leaves_nothing_of_its_step_behind(server: Server) {
    for step in ["t", "u"] {
        let (backend, mut one, two) = with_session(&server).await;
        drop(two);
        done(&mut one, stage("s", "t", "early", vec![set("early", 1)])).await;
        let schema = backend.schema();
        let mut other = server.raw().await;
        // The statements of a stage.
        let stage = format!(
            "BEGIN; SET search_path = {schema};
             UPDATE sessions SET stagings = stagings + 1, staged_step = '{step}';
             INSERT INTO staged VALUES ('s', '{step}', 'late', 1, '[]')"
        );
        raw_on(&mut other, &stage).await;
        let promoting = tokio::spawn(async move {
            let promoted = done(&mut one, promote("s", "t", 1, vec![], vec![])).await;
            (promoted, snapshot(&mut one, "s").await)
        });
        let waits = format!(
            "SELECT count(*) FROM pg_stat_activity
             WHERE application_name = '{schema}' AND wait_event_type = 'Lock'"
        );
        becomes(&mut server.raw().await, &waits, 1).await;
        raw_on(&mut other, "COMMIT").await;
        let (promoted, after) = promoting.await.expect("no panic");
        let applied = if step == "t" { 2 } else { 1 };
        assert_eq!(promoted, Reply::Promoted { version: 2, applied, appended: 0 });
        assert_eq!(after.staged.len() as u64, 2 - applied);
        remove(&server, backend).await;
    }
}

/// It has not read what is staged.
async fn an_append_is_not_disturbed_by_a_stage(server: Server) {
    let (backend, mut one, two) = with_session(&server).await;
    let late = vec![stage("s", "t", "c", vec![])];
    let operation = append("s", vec![message("m", 1)]);
    let (appended, points) = overtaken(&mut one, &operation, two, late).await;
    assert_eq!(appended, Completion::Done(Reply::Appended { appended: 1, total: 1 }));
    assert_eq!(points, ONE_ROUND);
    remove(&server, backend).await;
}

async fn a_promote_does_not_carry_over_what_a_deleted_session_held(server: Server) {
    // Created again, the session comes to the same version by as many writes, or fewer.
    for more_writes in 0..3 {
        let (backend, mut one, mut two) = with_session(&server).await;
        done(&mut one, promote("s", "t", 1, vec![set("old", 1)], vec![])).await;
        for number in 0..more_writes {
            done(&mut one, stage("s", "x", &format!("c{number}"), vec![])).await;
        }
        let again = async {
            done(&mut two, delete("s")).await;
            done(&mut two, create("s")).await;
            done(&mut two, promote("s", "t", 1, vec![set("new", 1)], vec![])).await;
        };
        let operation = promote("s", "u", 2, vec![set("k", 1)], vec![]);
        let promoted = meanwhile(&mut one, &operation, Point::Statement(1), again).await;
        let reply = Reply::Promoted { version: 3, applied: 0, appended: 0 };
        assert_eq!(promoted, Completion::Done(reply));
        let state = snapshot(&mut one, "s").await.state;
        assert_eq!(state.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["k", "new"]);
        remove(&server, backend).await;
    }
}

async fn a_discard_counts_what_it_drops(server: Server) {
    let (backend, mut one, mut two) = with_session(&server).await;
    done(&mut one, stage("s", "t", "a", vec![])).await;
    let discard = Operation::Discard { session: "s".into(), step: "t".into() };
    let late = async {
        done(&mut two, stage("s", "t", "b", vec![])).await;
    };
    let discarded = meanwhile(&mut one, &discard, Point::BeforeCommit, late).await;
    assert_eq!(discarded, Completion::Done(Reply::Discarded { calls: 2 }));
    assert!(snapshot(&mut one, "s").await.staged.is_empty());
    remove(&server, backend).await;
}

async fn a_status_set_while_a_promote_computes_makes_it_stale(server: Server) {
    let (backend, mut one, mut two) = with_session(&server).await;
    let set_status = Operation::CompareAndSetStatus {
        session: "s".into(),
        from: vec![Status::Active],
        to: Status::Interrupted,
    };
    let late = async {
        done(&mut two, set_status).await;
    };
    let operation = promote("s", "t", 1, vec![], vec![]);
    let promoted = meanwhile(&mut one, &operation, Point::BeforeCommit, late).await;
    assert_eq!(promoted, Completion::Refused(Refusal::StaleState { expected: 1, current: 2 }));
    remove(&server, backend).await;
}

/// Everything that leaves a row, on a session that comes and goes.
fn leaving_a_row(number: usize) -> Operation {
    let name = format!("n{number}");
    let (session, call, run) = ("s".into(), name.as_str().into(), name.as_str().into());
    match number % 5 {
        0 => stage("s", &name, "c", vec![]),
        1 => append("s", vec![message(&name, Value::Null)]),
        2 => Operation::RegisterCall { session, call, run, deadline: 5 },
        3 => Operation::BeginRun { session, run },
        _ => promote("s", &name, 1, vec![], vec![message(&name, Value::Null)]),
    }
}

async fn a_deletion_among_writers_leaves_no_row(server: Server) {
    let (backend, mut one, _) = with_session(&server).await;
    at_once(&backend, 6, |writer, mut store| async move {
        for round in 0..30 {
            let operation = match writer {
                0 if round % 2 == 0 => delete("s"),
                0 => create("s"),
                _ => leaving_a_row(writer + round),
            };
            match execute(&mut store, operation).await {
                Completion::Done(_) | Completion::Refused(_) => {}
                other => panic!("{other:?}"),
            }
        }
    })
    .await;
    let audit = backend.audit(&["s".into()]).await.expect("an audit");
    let rows = &audit[&"s".into()];
    assert!(rows.head.is_some());
    let turns: Vec<u64> = rows.runs.iter().map(|(turn, _)| *turn).collect();
    assert_eq!(turns, (1..=turns.len() as u64).collect::<Vec<_>>());
    done(&mut one, delete("s")).await;
    assert!(backend.audit(&["s".into()]).await.expect("an audit").is_empty());
    remove(&server, backend).await;
}

//! Several writers at once: nobody's work is lost, and nothing counts twice.

use stagefault_models::{
    Backend, Change, Completion, Id, Operation, Refusal, Reply, Resolution, Value,
};
use stagefault_stores::postgres::{PostgresBackend, PostgresStore};

use crate::support::*;

tests![
    two_handles_see_each_other,
    increments_of_many_writers_are_all_there,
    many_writers_of_few_sessions_all_get_on,
    twenty_appends_at_once_are_all_there,
    appends_of_the_same_messages_at_once_store_them_once,
    the_same_call_staged_by_many_at_once_is_staged_once,
    runs_begun_at_once_get_turns_without_gaps,
    a_run_begun_by_many_at_once_has_one_turn,
    of_consumers_of_one_interrupt_exactly_one_takes_it,
    of_different_results_at_once_one_wins,
    of_creations_at_once_one_succeeds,
];

/// How many write at once where each keeps its connection busy.
const WRITERS: usize = 6;

async fn with_session(server: &Server) -> PostgresBackend {
    let backend = server.schema().await;
    done(&mut handle(&backend).await, create("s")).await;
    backend
}

async fn two_handles_see_each_other(server: Server) {
    let backend = server.schema().await;
    let (mut one, mut two) = (handle(&backend).await, handle(&backend).await);
    done(&mut one, create("s")).await;
    assert_eq!(snapshot(&mut two, "s").await.version, 1);
    done(&mut two, stage("s", "t", "c", vec![set("k", 1)])).await;
    done(&mut one, promote("s", "t", 1, vec![], vec![message("m", 1)])).await;
    assert_eq!(messages(&mut two, "s").await, [message("m", 1)]);
    remove(&server, backend).await;
}

/// Stages an increment and promotes it, with the version that is read, until it succeeds.
async fn increment(store: &mut PostgresStore, session: &str, step: &str) {
    let by_one = Change::Increment { key: "sum".into(), by: 1 };
    done(store, stage(session, step, "c", vec![by_one])).await;
    loop {
        let version = snapshot(store, session).await.version;
        match execute(store, promote(session, step, version, vec![], vec![])).await {
            Completion::Done(Reply::Promoted { applied: 1, .. }) => return,
            Completion::Refused(Refusal::StaleState { .. }) => {}
            other => panic!("neither promoted nor stale: {other:?}"),
        }
    }
}

async fn increments_of_many_writers_are_all_there(server: Server) {
    let backend = with_session(&server).await;
    at_once(&backend, WRITERS, |writer, mut store| async move {
        for number in 0..10 {
            increment(&mut store, "s", &format!("{writer}-{number}")).await;
        }
    })
    .await;
    let after = snapshot(&mut handle(&backend).await, "s").await;
    let increments = 10 * WRITERS as u64;
    assert_eq!(after.state.get(&"sum".into()), Some(&Value::Integer(increments as i64)));
    assert_eq!(after.version, 1 + increments);
    assert!(after.staged.is_empty());
    remove(&server, backend).await;
}

async fn many_writers_of_few_sessions_all_get_on(server: Server) {
    let backend = server.schema().await;
    let sessions = ["a", "b", "c"];
    for session in sessions {
        done(&mut handle(&backend).await, create(session)).await;
    }
    at_once(&backend, 12, |writer, mut store| async move {
        for number in 0..15 {
            let session = sessions[(writer + number) % sessions.len()];
            let name = format!("{writer}-{number}");
            done(&mut store, append(session, vec![message(&name, 0)])).await;
            done(&mut store, stage(session, &name, "c", vec![])).await;
            let id = session.into();
            done(&mut store, Operation::Discard { session: id, step: (*name).into() }).await;
        }
    })
    .await;
    let mut count = 0;
    for session in sessions {
        let after = snapshot(&mut handle(&backend).await, session).await;
        count += after.message_count;
        assert!(after.staged.is_empty(), "{:?}", after.staged);
    }
    assert_eq!(count, 12 * 15);
    remove(&server, backend).await;
}

/// The messages of session `s`, whose positions must be without gaps.
async fn kept(backend: &PostgresBackend) -> Vec<Id> {
    let audit = backend.audit(&["s".into()]).await.expect("an audit");
    let positions: Vec<u64> = audit[&"s".into()].messages.iter().map(|(at, _)| *at).collect();
    assert_eq!(positions, (0..positions.len() as u64).collect::<Vec<_>>());
    audit[&"s".into()].messages.iter().map(|(_, message)| message.id.clone()).collect()
}

async fn twenty_appends_at_once_are_all_there(server: Server) {
    let backend = with_session(&server).await;
    let totals = at_once(&backend, 20, |writer, mut store| async move {
        match done(&mut store, append("s", vec![message(&format!("m{writer}"), 0)])).await {
            Reply::Appended { appended: 1, total } => total,
            other => panic!("not appended: {other:?}"),
        }
    });
    let mut totals = totals.await;
    totals.sort_unstable();
    assert_eq!(totals, (1..=20).collect::<Vec<u64>>());
    assert_eq!(kept(&backend).await.len(), 20);
    remove(&server, backend).await;
}

async fn appends_of_the_same_messages_at_once_store_them_once(server: Server) {
    let backend = with_session(&server).await;
    let appended = at_once(&backend, WRITERS, |writer, mut store| async move {
        let mut sum = 0;
        for number in 0..10 {
            let shared = message(&format!("all-{number}"), number);
            let own = message(&format!("{writer}-{number}"), number);
            match done(&mut store, append("s", vec![shared, own])).await {
                Reply::Appended { appended, .. } => sum += appended,
                other => panic!("not appended: {other:?}"),
            }
        }
        sum
    });
    let appended: u64 = appended.await.into_iter().sum();
    assert_eq!(appended, 10 * (WRITERS as u64 + 1));
    assert_eq!(kept(&backend).await.len() as u64, appended);
    remove(&server, backend).await;
}

async fn the_same_call_staged_by_many_at_once_is_staged_once(server: Server) {
    let backend = with_session(&server).await;
    at_once(&backend, WRITERS, |_, mut store| async move {
        for _ in 0..10 {
            let by_one = Change::Increment { key: "sum".into(), by: 1 };
            done(&mut store, stage("s", "t", "c", vec![by_one])).await;
        }
    })
    .await;
    let mut store = handle(&backend).await;
    let promoted = done(&mut store, promote("s", "t", 1, vec![], vec![])).await;
    assert_eq!(promoted, Reply::Promoted { version: 2, applied: 1, appended: 0 });
    assert_eq!(snapshot(&mut store, "s").await.state.get(&"sum".into()), Some(&Value::Integer(1)));
    remove(&server, backend).await;
}

fn begin_run(run: &str) -> Operation {
    Operation::BeginRun { session: "s".into(), run: run.into() }
}

async fn runs_begun_at_once_get_turns_without_gaps(server: Server) {
    let backend = with_session(&server).await;
    let turns = at_once(&backend, WRITERS, |writer, mut store| async move {
        let mut turns = Vec::new();
        for number in 0..5 {
            turns.push(done(&mut store, begin_run(&format!("{writer}-{number}"))).await);
        }
        turns
    });
    let mut turns = turns.await.concat();
    turns.sort_unstable_by_key(|reply| match reply {
        Reply::RunBegun { turn } => *turn,
        other => panic!("not begun: {other:?}"),
    });
    let expected = (1..=5 * WRITERS as u64).map(|turn| Reply::RunBegun { turn });
    assert_eq!(turns, expected.collect::<Vec<_>>());
    remove(&server, backend).await;
}

async fn a_run_begun_by_many_at_once_has_one_turn(server: Server) {
    let backend = with_session(&server).await;
    let turns =
        at_once(
            &backend,
            WRITERS,
            |_, mut store| async move { done(&mut store, begin_run("r")).await },
        );
    assert_eq!(turns.await, vec![Reply::RunBegun { turn: 1 }; WRITERS]);
    remove(&server, backend).await;
}

async fn of_consumers_of_one_interrupt_exactly_one_takes_it(server: Server) {
    let backend = with_session(&server).await;
    for _ in 0..10 {
        let request = Operation::RequestInterrupt { session: "s".into() };
        done(&mut handle(&backend).await, request).await;
        let taken = at_once(&backend, WRITERS, |_, mut store| async move {
            done(&mut store, Operation::ConsumeInterrupt { session: "s".into() }).await
        });
        let taken = taken.await;
        let taken = taken.iter().filter(|reply| **reply == Reply::Interrupt { taken: true });
        assert_eq!(taken.count(), 1);
    }
    remove(&server, backend).await;
}

async fn of_different_results_at_once_one_wins(server: Server) {
    let backend = with_session(&server).await;
    let register = Operation::RegisterCall {
        session: "s".into(),
        call: "c".into(),
        run: "r".into(),
        deadline: 10,
    };
    done(&mut handle(&backend).await, register).await;
    let completions = at_once(&backend, WRITERS, |writer, mut store| async move {
        let result = Value::Integer(writer as i64);
        let (session, call, run) = ("s".into(), "c".into(), "r".into());
        let submit = Operation::SubmitResult { session, call, run, result, now: 1 };
        execute(&mut store, submit).await
    });
    let mut won = 0;
    for completion in completions.await {
        match completion {
            Completion::Done(Reply::Submitted) => won += 1,
            Completion::Refused(Refusal::CallResolved { resolution: Resolution::Submitted }) => {}
            other => panic!("neither won nor lost: {other:?}"),
        }
    }
    assert_eq!(won, 1);
    remove(&server, backend).await;
}

async fn of_creations_at_once_one_succeeds(server: Server) {
    let backend = server.schema().await;
    let completions =
        at_once(
            &backend,
            WRITERS,
            |_, mut store| async move { execute(&mut store, create("s")).await },
        );
    let mut completions = completions.await;
    completions.retain(|completion| *completion != Completion::Done(Reply::Created { version: 1 }));
    let exists = Completion::Refused(Refusal::SessionExists { version: 1 });
    assert_eq!(completions, vec![exists; WRITERS - 1]);
    remove(&server, backend).await;
}

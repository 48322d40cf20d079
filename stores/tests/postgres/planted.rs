//! The planted flaws that only writers at the same time can show, each at the moment that
//! shows it. The same moments without a flaw are in `races.rs` and `sweeps.rs`.

use sqlx::Connection;
use stagefault_models::{
    CallState, Completion, ExpiredCall, Namespaces, Operation, Point, Reply, Scope, Store,
};
use stagefault_stores::flaws::{Flaw, Flaws};
use stagefault_stores::postgres::PostgresBackend;

use crate::shared::hold::Once;
use crate::support::*;

tests![
    a_sweep_of_one_update_is_not_at_one_moment,
    a_sweep_that_locks_in_the_write_is_not_at_one_moment,
    a_promote_guarded_by_the_version_loses_what_is_staged_meanwhile,
];

async fn with_flaw(server: &Server, flaw: Flaw) -> PostgresBackend {
    let flaws = Flaws::planted(flaw).expect("a build with the cargo feature `flaws`");
    server.namespaces().fresh().await.expect("a schema").with_flaws(flaws)
}

fn register(session: &str, call: &str) -> Operation {
    let (session, call, run) = (session.into(), call.into(), "r".into());
    Operation::RegisterCall { session, call, run, deadline: 5 }
}

fn submit(session: &str, call: &str) -> Operation {
    let (session, call, run) = (session.into(), call.into(), "r".into());
    Operation::SubmitResult { session, call, run, result: 1.into(), now: 4 }
}

async fn a_sweep_of_one_update_is_not_at_one_moment(server: Server) {
    // In the sweep's way is a call that it comes to first.
    let hold = "SELECT FROM calls WHERE session = 'a' FOR UPDATE";
    is_not_at_one_moment(server, Flaw::SweepOfOneUpdate, hold).await;
}

async fn a_sweep_that_locks_in_the_write_is_not_at_one_moment(server: Server) {
    // In the sweep's way is a session that it locks first.
    let hold = "SELECT FROM sessions WHERE session = 'a' FOR UPDATE";
    is_not_at_one_moment(server, Flaw::SweepLocksInTheWrite, hold).await;
}

/// While the sweep waits, one call is registered and then another one submitted. The sweep
/// expires neither, and so came before the one and after the other.
async fn is_not_at_one_moment(server: Server, flaw: Flaw, hold: &str) {
    let backend = with_flaw(&server, flaw).await;
    let (mut sweeper, mut other) = (handle(&backend).await, handle(&backend).await);
    for session in ["a", "s"] {
        done(&mut other, create(session)).await;
        done(&mut other, register(session, "c")).await;
    }
    let mut holder = server.raw().await;
    let schema = backend.schema();
    raw_on(&mut holder, &format!("SET search_path = {schema}; BEGIN; {hold}")).await;
    let sweep =
        tokio::spawn(async move { done(&mut sweeper, Operation::ExpireCalls { now: 5 }).await });
    let waits = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE application_name = '{schema}' AND wait_event_type = 'Lock'"
    );
    becomes(&mut server.raw().await, &waits, 1).await;

    done(&mut other, register("s", "d")).await;
    done(&mut other, submit("s", "c")).await;
    holder.close().await.expect("the lock is given back");
    let expired = vec![ExpiredCall { session: "a".into(), call: "c".into() }];
    assert_eq!(sweep.await.expect("no panic"), Reply::CallsExpired(expired));
    let calls = snapshot(&mut other, "s").await.calls;
    assert_eq!(calls[&"d".into()].state, CallState::Pending, "after the sweep it would be expired");
    remove(&server, backend).await;
}

async fn a_promote_guarded_by_the_version_loses_what_is_staged_meanwhile(server: Server) {
    let backend = with_flaw(&server, Flaw::PromoteGuardedByVersion).await;
    let (mut one, mut two) = (handle(&backend).await, handle(&backend).await);
    done(&mut one, create("s")).await;
    done(&mut one, stage("s", "t", "early", vec![set("early", 1)])).await;
    let late = async {
        done(&mut two, stage("s", "t", "late", vec![set("late", 1)])).await;
    };
    let hook = Once::at(Point::Statement(1), late);
    let scope = Scope { hook: Some(&hook), ..Scope::default() };
    let promoted = one.execute(&promote("s", "t", 1, vec![], vec![]), &scope).await;
    let reply = Reply::Promoted { version: 2, applied: 1, appended: 0 };
    assert_eq!(promoted, Completion::Done(reply));
    let after = snapshot(&mut one, "s").await;
    assert!(after.staged.is_empty() && after.state.get(&"late".into()).is_none(), "{after:?}");
    remove(&server, backend).await;
}

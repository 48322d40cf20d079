//! A commit of which the writer does not hear, and what it is told: with the phase kept it is
//! in doubt, and with each flaw of this kind it is a lie.

use std::time::Duration;

use stagefault_models::{
    Cause, Completion, Operation, Point, Refusal, Scope, Snapshot, Store, Value,
};
use stagefault_stores::flaws::{Flaw, Flaws};

use crate::provoking::*;
use crate::shared::hold::HoldAt;
use crate::support::*;

tests![
    a_promote_whose_reply_was_lost_is_in_doubt_and_repeated_it_learns_that_its_step_is_closed,
    a_sweep_whose_reply_was_lost_is_in_doubt;
    an_error_at_the_commit_told_as_not_applied_is_a_lie,
    an_error_text_is_no_ground_to_call_a_commit_not_applied,
    an_operation_in_doubt_that_is_tried_again_gives_the_answer_of_another,
    a_lost_commit_told_as_done_is_a_lie,
    a_deadline_after_the_commit_told_as_not_applied_is_a_lie,
];

fn promotion() -> Operation {
    promote("s", "t", 1, vec![set("k", 1)], vec![message("m", Value::Null)])
}

/// A promote whose commit is delivered and whose reply is lost, and the session afterwards.
async fn promote_with_the_reply_lost(server: &Server, flaws: Flaws) -> (Completion, Snapshot) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    let completion = with_the_reply_lost(server, backend.schema(), flaws, promotion()).await;
    let after = snapshot(&mut store, "s").await;
    let again = execute(&mut store, promotion()).await;
    assert_eq!(again, Completion::Refused(Refusal::StepClosed));
    remove(server, backend).await;
    (completion, after)
}

async fn a_promote_whose_reply_was_lost_is_in_doubt_and_repeated_it_learns_that_its_step_is_closed(
    server: Server,
) {
    let (completion, after) = promote_with_the_reply_lost(&server, Flaws::none()).await;
    let Completion::Unknown(failure) = completion else { panic!("{completion:?}") };
    assert_eq!((failure.cause, after.version), (Cause::Connection, 2));
}

async fn a_sweep_whose_reply_was_lost_is_in_doubt(server: Server) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, stage("s", "t", "c", vec![])).await;
    let cleanup = Operation::Cleanup { now: 9, staging_ttl: 0 };
    let completion = with_the_reply_lost(&server, backend.schema(), Flaws::none(), cleanup).await;
    assert!(matches!(completion, Completion::Unknown(_)), "{completion:?}");
    assert!(snapshot(&mut store, "s").await.staged.is_empty());
    remove(&server, backend).await;
}

async fn an_error_at_the_commit_told_as_not_applied_is_a_lie(server: Server) {
    let flaws = planted(Flaw::CommitErrorNotApplied);
    let (completion, after) = promote_with_the_reply_lost(&server, flaws).await;
    assert!(matches!(completion, Completion::NotApplied(_)), "{completion:?}");
    assert_eq!(after.version, 2, "it is applied");
}

async fn an_error_text_is_no_ground_to_call_a_commit_not_applied(server: Server) {
    let flaws = planted(Flaw::ErrorTextMatched);
    let (completion, after) = promote_with_the_reply_lost(&server, flaws).await;
    assert!(matches!(completion, Completion::NotApplied(_)), "{completion:?}");
    assert_eq!(after.version, 2, "it is applied");
}

async fn an_operation_in_doubt_that_is_tried_again_gives_the_answer_of_another(server: Server) {
    let flaws = planted(Flaw::RetryInDoubt);
    let (completion, after) = promote_with_the_reply_lost(&server, flaws).await;
    assert_eq!(completion, Completion::Refused(Refusal::StepClosed));
    assert_eq!(after.version, 2, "it is applied, and a refusal changes nothing");
}

/// Without the flaw: `cuts::a_write_cut_as_it_commits_is_in_doubt`.
async fn a_lost_commit_told_as_done_is_a_lie(server: Server) {
    let backend = server.schema_with(planted(Flaw::DoneOnLostCommit)).await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    let schema = backend.schema();
    trigger(&server, schema, "messages", "DEFERRABLE INITIALLY DEFERRED", SLEEP).await;
    let (completion, ()) = tokio::join!(execute(&mut store, promotion()), async {
        becomes_of(&server, schema, "wait_event = 'PgSleep'", 1).await;
        cut(&server, schema).await;
    });
    assert!(matches!(completion, Completion::Done(_)), "{completion:?}");
    drop_trigger(&server, schema).await;
    assert_eq!(snapshot(&mut store, "s").await.version, 1, "it is not applied");
    remove(&server, backend).await;
}

/// Without the flaw:
/// `deadlines::a_deadline_before_the_commit_is_sent_is_not_applied_and_after_it_is_in_doubt`.
async fn a_deadline_after_the_commit_told_as_not_applied_is_a_lie(server: Server) {
    let backend = server.schema_with(planted(Flaw::TimeoutNotApplied)).await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    let hook = HoldAt::new(Point::Reply);
    let scope = Scope { deadline: Duration::from_secs(2), hook: Some(&hook) };
    let completion = store.execute(&promotion(), &scope).await;
    let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
    assert_eq!(failure.cause, Cause::Deadline);
    assert_eq!(snapshot(&mut store, "s").await.version, 2, "it is applied");
    remove(&server, backend).await;
}

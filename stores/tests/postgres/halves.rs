//! A promote is whole or nothing, wherever its connection is cut and whichever part of it
//! fails. Each test is done to the store as it is and with a flaw planted.

use stagefault_models::{Completion, Reply, Scope, Snapshot, Store};
use stagefault_stores::flaws::{Flaw, Flaws};
use stagefault_stores::postgres::PostgresBackend;

use crate::provoking::*;
use crate::support::*;

tests![
    a_promote_cut_at_every_point_is_whole_or_nothing,
    a_promote_of_which_a_part_fails_is_not_applied;
    a_promote_of_several_commits_is_cut_in_half,
    statements_replayed_outside_their_transaction_leave_half_a_promote,
    a_commit_after_a_swallowed_error_is_told_as_done_and_rolled_back,
    a_result_taken_for_a_commit_is_told_as_done_and_rolled_back,
];

/// What a promote wrote.
#[derive(Debug, PartialEq, Eq)]
enum Wrote {
    All,
    Nothing,
    Part,
}

impl Wrote {
    fn seen(after: &Snapshot) -> Self {
        match (after.version, after.staged.len(), after.message_count) {
            (2, 0, 1) => Wrote::All,
            (1, 1, 0) => Wrote::Nothing,
            _ => Wrote::Part,
        }
    }
}

/// A new session, with a staged call of step `t`.
async fn with_staging(backend: &PostgresBackend, session: &str) {
    let mut store = handle(backend).await;
    done(&mut store, create(session)).await;
    done(&mut store, stage(session, "t", "c", vec![set("staged", 1)])).await;
}

/// Promotes one session after another, each cut at a later point, until one is not cut: what
/// the caller was told, and what was written.
async fn cut_at_every_point(server: &Server, flaws: Flaws) -> Vec<(Completion, Wrote)> {
    let backend = server.schema_with(flaws).await;
    let mut outcomes = Vec::new();
    for number in 0.. {
        let session = format!("s{number}");
        with_staging(&backend, &session).await;
        let mut store = handle(&backend).await;
        let operation = promote(&session, "t", 1, vec![set("k", 1)], vec![message("m", 1)]);
        let hook = AtNumber::new(number, || cut(server, backend.schema()));
        let scope = Scope { hook: Some(&hook), ..Scope::default() };
        let completion = store.execute(&operation, &scope).await;
        if !hook.fired() {
            break;
        }
        server.settle(&backend).await;
        let after = snapshot(&mut handle(&backend).await, &session).await;
        outcomes.push((completion, Wrote::seen(&after)));
    }
    remove(server, backend).await;
    outcomes
}

async fn a_promote_cut_at_every_point_is_whole_or_nothing(server: Server) {
    let outcomes = cut_at_every_point(&server, Flaws::none()).await;
    for (completion, wrote) in &outcomes {
        match completion {
            Completion::Done(_) => assert_eq!(*wrote, Wrote::All),
            Completion::NotApplied(_) => assert_eq!(*wrote, Wrote::Nothing),
            Completion::Unknown(_) => assert_ne!(*wrote, Wrote::Part),
            Completion::Refused(refusal) => panic!("{refusal:?}"),
        }
    }
    assert_eq!(outcomes.len(), 4, "{outcomes:?}");
}

async fn a_promote_of_several_commits_is_cut_in_half(server: Server) {
    let outcomes = cut_at_every_point(&server, planted(Flaw::StatementByStatement)).await;
    let halves = outcomes.iter().filter(|(_, wrote)| *wrote == Wrote::Part).count();
    // Twice after the first commit, and twice after the second.
    assert_eq!(halves, 4, "{outcomes:?}");
}

async fn statements_replayed_outside_their_transaction_leave_half_a_promote(server: Server) {
    let outcomes = cut_at_every_point(&server, planted(Flaw::StatementReplayedOutside)).await;
    let half = |(completion, wrote): &&(Completion, Wrote)| {
        matches!(completion, Completion::Done(Reply::Promoted { .. })) && *wrote == Wrote::Part
    };
    assert!(outcomes.iter().any(|outcome| half(&outcome)), "{outcomes:?}");
}

/// A promote whose messages the server does not take: at once, or only as it commits.
async fn promote_in_vain(server: &Server, flaws: Flaws, deferred: bool) -> (Completion, Wrote) {
    let backend = server.schema_with(flaws).await;
    with_staging(&backend, "s").await;
    let mut store = handle(&backend).await;
    fail(server, backend.schema(), "messages", deferred).await;
    let operation = promote("s", "t", 1, vec![set("k", 1)], vec![message("m", 1)]);
    let completion = execute(&mut store, operation).await;
    drop_trigger(server, backend.schema()).await;
    let after = snapshot(&mut handle(&backend).await, "s").await;
    remove(server, backend).await;
    (completion, Wrote::seen(&after))
}

async fn a_promote_of_which_a_part_fails_is_not_applied(server: Server) {
    for deferred in [false, true] {
        let (completion, wrote) = promote_in_vain(&server, Flaws::none(), deferred).await;
        assert!(matches!(completion, Completion::NotApplied(_)), "{completion:?}");
        assert_eq!(wrote, Wrote::Nothing);
    }
}

async fn is_done_and_rolled_back(server: Server, flaw: Flaw, deferred: bool) {
    let (completion, wrote) = promote_in_vain(&server, planted(flaw), deferred).await;
    assert!(matches!(completion, Completion::Done(Reply::Promoted { .. })), "{completion:?}");
    assert_eq!(wrote, Wrote::Nothing);
}

async fn a_commit_after_a_swallowed_error_is_told_as_done_and_rolled_back(server: Server) {
    is_done_and_rolled_back(server, Flaw::ErrorSwallowed, false).await;
}

async fn a_result_taken_for_a_commit_is_told_as_done_and_rolled_back(server: Server) {
    is_done_and_rolled_back(server, Flaw::ResultTakenForCommit, true).await;
}

//! The sweeps range over all sessions of a store.

use crate::words::*;
use stagefault_models::{
    CallState, CleanedStaging, ExpiredCall, Id, Operation, Refusal, Reply, StoreModel,
};

/// A store on which these operations were done.
#[track_caller]
fn store<const N: usize>(operations: [Operation; N]) -> StoreModel {
    let mut store = StoreModel::default();
    for operation in operations {
        let answer = store.step(&operation);
        assert!(answer.is_ok(), "{operation:?} was refused: {answer:?}");
    }
    store
}

fn staging(session: &str, step: &str, call: &str) -> CleanedStaging {
    CleanedStaging { session: session.into(), step: step.into(), call: call.into() }
}

fn cleaned<const N: usize, const M: usize>(
    sessions: [&str; N],
    staged: [CleanedStaging; M],
) -> Result<Reply, Refusal> {
    let sessions = sessions.map(Id::from).into();
    Ok(Reply::Cleaned { sessions, staged: staged.into() })
}

#[test]
fn calls_expire_in_all_sessions() {
    let mut store = store([
        of("a", create()),
        of("a", register("c", "r", 5)),
        of("b", create()),
        of("b", register("c", "r", 6)),
        of("b", register("later", "r", 7)),
        of("gone", create()),
        of("gone", register("c", "r", 5)),
        of("gone", delete()),
    ]);
    let expired = |session: &str| ExpiredCall { session: session.into(), call: "c".into() };
    assert_eq!(
        store.step(&expire_calls(6)),
        Ok(Reply::CallsExpired(vec![expired("a"), expired("b")]))
    );
    let calls = &store.session(&"b".into()).expect("created").calls;
    assert_eq!(calls.get(&"c".into()).map(|call| &call.state), Some(&CallState::Expired));
    assert_eq!(calls.get(&"later".into()).map(|call| &call.state), Some(&CallState::Pending));
}

#[test]
fn a_cleanup_removes_sessions_from_their_expiry_on() {
    let mut store = store([
        of("early", create_until(Some(9))),
        of("due", create_until(Some(10))),
        of("later", create_until(Some(11))),
        of("never", create()),
    ]);
    assert_eq!(store.step(&cleanup(10, 0)), cleaned(["due", "early"], []));
    assert_eq!(store.step(&of("due", load())), Err(Refusal::SessionNotFound));
    assert!(store.session(&"later".into()).is_some() && store.session(&"never".into()).is_some());
    assert_eq!(store.step(&cleanup(10, 0)), cleaned([], []), "a session is removed once");
}

#[test]
fn a_cleanup_removes_staging_that_reached_its_ttl() {
    let mut store = store([
        of("a", create()),
        of("a", stage("t", "old", 6, [])),
        of("a", stage("t", "due", 7, [])),
        of("a", stage("t", "young", 8, [])),
        of("b", create()),
        of("b", stage("t", "due", 7, [])),
    ]);
    assert_eq!(
        store.step(&cleanup(10, 3)),
        cleaned([], [staging("a", "t", "due"), staging("a", "t", "old"), staging("b", "t", "due")])
    );
    let staged = &store.session(&"a".into()).expect("created").staged;
    assert!(staged.len() == 1 && staged.contains_key(&("t".into(), "young".into())));
}

#[test]
fn the_staging_of_a_removed_session_is_not_listed() {
    let mut store = store([of("a", create_until(Some(5))), of("a", stage("t", "c", 0, []))]);
    assert_eq!(store.step(&cleanup(5, 0)), cleaned(["a"], []));
}

#[test]
fn a_ttl_longer_than_all_time_so_far_removes_nothing() {
    let mut store = store([of("a", create()), of("a", stage("t", "c", 0, []))]);
    assert_eq!(store.step(&cleanup(10, 11)), cleaned([], []));
    assert_eq!(store.step(&cleanup(10, 10)), cleaned([], [staging("a", "t", "c")]));
}

#[test]
fn staging_of_time_0_is_due_at_time_0() {
    let mut store = store([of("a", create()), of("a", stage("t", "c", 0, []))]);
    assert_eq!(store.step(&cleanup(0, 0)), cleaned([], [staging("a", "t", "c")]));
}

#[test]
fn a_step_whose_staging_was_cleaned_up_stays_open() {
    let mut store = store([
        of("a", create()),
        of("a", stage("t", "c", 0, [])),
        cleanup(0, 0),
        of("a", stage("t", "c", 1, [])),
    ]);
    assert_eq!(
        store.step(&of("a", promote_staged("t", 1))),
        Ok(Reply::Promoted { version: 2, applied: 1, appended: 0 })
    );
}

#[test]
fn a_sweep_of_an_empty_store_lists_nothing_and_is_judged_all_the_same() {
    let mut store = StoreModel::default();
    assert_eq!(store.step(&expire_calls(0)), Ok(Reply::CallsExpired(vec![])));
    assert_eq!(store.step(&cleanup(0, 0)), cleaned([], []));
    assert!(matches!(store.step(&expire_calls(1 << 53)), Err(Refusal::InvalidInput(_))));
    assert!(matches!(store.step(&cleanup(0, 1 << 53)), Err(Refusal::InvalidInput(_))));
}

#[test]
fn a_store_knows_every_id_that_was_validly_named() {
    let mut store = store([of("a", create())]);
    assert_eq!(store.step(&of("asked", load())), Err(Refusal::SessionNotFound));
    assert!(store.step(&of("", create())).is_err());
    let known: Vec<_> =
        store.sessions().map(|(id, session)| (id.as_str(), session.is_some())).collect();
    assert_eq!(known, [("a", true), ("asked", false)]);
}

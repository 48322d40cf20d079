//! A commit that is cut on the wire: in doubt for its writer, and never in doubt for us.
//!
//! `STAGEFAULT_TRIALS` says how often each is tried.

use stagefault_models::{Backend, CallState, Completion, FaultKind, OperationKind, Point, Refusal};

use crate::desk::*;
use crate::requests::*;

fn trials() -> usize {
    let trials = std::env::var("STAGEFAULT_TRIALS").ok();
    trials.map_or(20, |trials| trials.parse().expect("a number"))
}

/// How a commit is cut: none of these is waited for.
const CUTS: [FaultKind; 3] = [FaultKind::Reset, FaultKind::Close, FaultKind::Truncate];

#[tokio::test]
async fn a_commit_cut_before_it_is_delivered_is_in_doubt_and_never_applied() {
    let mut backend = namespace().await;
    for kind in [OperationKind::Promote, OperationKind::ExpireCalls] {
        let mut store = handle(&backend).await;
        for trial in 0..trials() {
            let session = format!("s{trial}");
            prepare(&mut store, kind, &session).await;
            let before = look(&backend, &mut store, &session).await;
            let operation = sample(kind, &session);
            let (completion, receipt) =
                under(&mut store, Point::CommitSent, CUTS[trial % 3], &operation).await;
            assert!(matches!(completion, Completion::Unknown(_)), "{completion:?}");
            assert_eq!(receipt.unwrap().applied, Some(false));
            assert_eq!(look(&backend, &mut store, &session).await, before);
            store = settle(&mut backend).await;
            assert_eq!(look(&backend, &mut store, &session).await, before);
            done(&mut store, delete(&session)).await;
        }
    }
    backend.remove().await.unwrap();
}

#[tokio::test]
async fn a_commit_cut_after_it_was_delivered_is_in_doubt_and_always_applied_and_once() {
    let backend = namespace().await;
    let (mut store, mut other) = (handle(&backend).await, handle(&backend).await);
    for trial in 0..trials() {
        let (session, point) =
            (format!("s{trial}"), [Point::CommitDelivered, Point::MidReply][trial % 2]);
        prepare(&mut store, OperationKind::Promote, &session).await;
        let promote = promotion(&session, "t", 1);
        let (completion, receipt) = under(&mut store, point, CUTS[trial % 3], &promote).await;
        assert!(matches!(completion, Completion::Unknown(_)), "{completion:?}");
        assert_eq!(receipt.unwrap().applied, Some(true));

        // Another step's writer learns that the version moved on, and the same promote,
        // repeated, that its step is closed: nothing is done twice.
        let stale = execute(&mut other, promotion(&session, "u", 1)).await;
        assert_eq!(stale, Completion::Refused(Refusal::StaleState { expected: 1, current: 2 }));
        let again = execute(&mut store, promote).await;
        assert_eq!(again, Completion::Refused(Refusal::StepClosed));
        let after = snapshot(&mut store, &session).await;
        assert_eq!((after.version, after.staged.len(), after.message_count), (2, 0, 1));
        done(&mut store, delete(&session)).await;
    }
    backend.remove().await.unwrap();
}

#[tokio::test]
async fn a_sweep_cut_after_its_commit_was_delivered_is_in_doubt_and_always_applied() {
    let backend = namespace().await;
    let mut store = handle(&backend).await;
    for trial in 0..trials() {
        let session = format!("s{trial}");
        prepare(&mut store, OperationKind::ExpireCalls, &session).await;
        let expire = sample(OperationKind::ExpireCalls, &session);
        let point = [Point::CommitDelivered, Point::MidReply][trial % 2];
        let (completion, receipt) = under(&mut store, point, CUTS[trial % 3], &expire).await;
        assert!(matches!(completion, Completion::Unknown(_)), "{completion:?}");
        assert_eq!(receipt.unwrap().applied, Some(true));
        let after = snapshot(&mut store, &session).await;
        assert!(after.calls.iter().all(|(_, call)| call.state == CallState::Expired));
    }
    backend.remove().await.unwrap();
}

//! A commit that is cut on the wire: in doubt for its writer, and never in doubt for us.
//!
//! `STAGEFAULT_TRIALS` says how often each is tried.

use stagefault_models::{Backend, Completion, FaultKind, Point, Refusal};

use crate::desk::*;
use crate::requests::*;

fn trials() -> usize {
    let trials = std::env::var("STAGEFAULT_TRIALS").ok();
    trials.map_or(60, |trials| trials.parse().expect("a number"))
}

/// How a commit is cut: none of these is waited for.
const CUTS: [FaultKind; 3] = [FaultKind::Reset, FaultKind::Close, FaultKind::Truncate];

#[tokio::test]
async fn a_commit_cut_before_it_is_delivered_is_in_doubt_and_never_applied() {
    let mut backend = namespace().await;
    for sample in [Sample::Promote, Sample::Expire] {
        let mut store = handle(&backend).await;
        for trial in 0..trials() {
            let session = format!("s{trial}");
            sample.prepare(&mut store, &session).await;
            let (completion, receipt) =
                under(&mut store, Point::CommitSent, CUTS[trial % 3], &sample.operation(&session))
                    .await;
            assert!(matches!(completion, Completion::Unknown(_)), "{completion:?}");
            assert_eq!(receipt.unwrap().applied, Some(false));
            assert!(!sample.took_effect(&snapshot(&mut store, &session).await));
            store = settle(&mut backend).await;
            assert!(!sample.took_effect(&snapshot(&mut store, &session).await));
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
        Sample::Promote.prepare(&mut store, &session).await;
        let promote = Sample::Promote.operation(&session);
        let (completion, receipt) = under(&mut store, point, CUTS[trial % 3], &promote).await;
        assert!(matches!(completion, Completion::Unknown(_)), "{completion:?}");
        assert_eq!(receipt.unwrap().applied, Some(true));

        // Another step's writer learns that the version moved on, and the same promote,
        // repeated, that its step is closed: nothing is done twice.
        let stale = execute(&mut other, promotion(&session, "u", 1)).await;
        assert_eq!(stale, Completion::Refused(Refusal::StaleState { expected: 1, current: 2 }));
        let again = execute(&mut store, promote).await;
        assert_eq!(again, Completion::Refused(Refusal::StepClosed));
        assert!(Sample::Promote.took_effect(&snapshot(&mut store, &session).await));
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
        Sample::Expire.prepare(&mut store, &session).await;
        let point = [Point::CommitDelivered, Point::MidReply][trial % 2];
        let (completion, receipt) =
            under(&mut store, point, CUTS[trial % 3], &Sample::Expire.operation(&session)).await;
        assert!(matches!(completion, Completion::Unknown(_)), "{completion:?}");
        assert_eq!(receipt.unwrap().applied, Some(true));
        assert!(Sample::Expire.took_effect(&snapshot(&mut store, &session).await));
    }
    backend.remove().await.unwrap();
}

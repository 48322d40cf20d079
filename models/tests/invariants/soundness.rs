//! The invariants never object to a correct store, whatever it is asked.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use stagefault_models::{
    Cause, Completion, CompletionKind, Failure, OperationKind, Reason, Reply, Snapshot,
};

use super::Scene;
use super::walk::{scenes, walks};

const CASES: u32 = 400;

fn undisputed(scene: &Scene) -> Result<(), TestCaseError> {
    prop_assert_eq!(scene.breach(), None, "{:#?}", scene);
    Ok(())
}

#[test]
fn no_invariant_objects_to_the_model() {
    let met = RefCell::new(BTreeSet::new());
    walks(CASES, |walk| {
        for scene in scenes(walk) {
            undisputed(&scene)?;
            met.borrow_mut().insert((scene.operation.kind(), scene.completion.kind()));
        }
        Ok(())
    });
    // A walk that never got anywhere would prove nothing.
    let met = met.into_inner();
    for kind in OperationKind::ALL {
        assert!(met.contains(&(kind, CompletionKind::Done)), "{kind:?} was never done");
    }
    for kind in CompletionKind::ALL {
        let infrastructure = [CompletionKind::NotApplied, CompletionKind::Unknown].contains(&kind);
        assert!(infrastructure || met.iter().any(|(_, met)| *met == kind), "{kind:?} was not met");
    }
}

#[test]
fn no_invariant_objects_to_an_operation_that_was_not_applied_or_is_in_doubt() {
    let failure = || Failure { cause: Cause::Connection, reason: Reason("reset".into()) };
    walks(CASES, |walk| {
        for scene in scenes(walk) {
            let in_doubt = Scene { completion: Completion::Unknown(failure()), ..scene };
            undisputed(&in_doubt)?;
            undisputed(&in_doubt.clone().without_effect())?;
            let completion = Completion::NotApplied(failure());
            undisputed(&Scene { completion, ..in_doubt }.without_effect())?;
        }
        Ok(())
    });
}

#[test]
fn no_invariant_objects_to_another_order_where_the_contract_leaves_it_free() {
    walks(CASES, |walk| {
        for mut scene in scenes(walk) {
            if let Some(after) = &mut scene.after {
                reverse_snapshot(&mut after.snapshot);
            }
            match &mut scene.completion {
                Completion::Done(Reply::Snapshot(snapshot)) => reverse_snapshot(snapshot),
                Completion::Done(Reply::CallsExpired(calls)) => calls.reverse(),
                Completion::Done(Reply::Cleaned { sessions, staged }) => {
                    sessions.reverse();
                    staged.reverse();
                }
                _ => {}
            }
            undisputed(&scene)?;
        }
        Ok(())
    });
}

fn reverse_snapshot(snapshot: &mut Snapshot) {
    snapshot.staged.reverse();
}

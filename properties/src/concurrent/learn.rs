//! Mending the generator's model by what the writers learn.
//!
//! The model takes the operations in the order of their calls; the store may have taken
//! them in another. If nobody told the model, its versions would run away from the
//! store's, and after the first race every promote would be stale.

use stagefault_models::{Completion, Operation, Refusal, Reply, Session, StoreModel, Version};

/// Takes note of what a completion shows of its session.
pub(super) fn learn(model: &mut StoreModel, operation: &Operation, completion: &Completion) {
    let Some(id) = operation.session() else { return };
    let Some(state) = model.state_mut(id) else { return };
    match completion {
        Completion::Refused(Refusal::SessionNotFound) => {
            state.session = None;
            return;
        }
        Completion::Done(Reply::Deleted) | Completion::Unknown(_) => return,
        Completion::NotApplied(_) | Completion::Refused(Refusal::InvalidInput(_)) => return,
        // Whatever else is answered, the session is there.
        Completion::Done(_) | Completion::Refused(_) => {}
    }
    let session = state.session.get_or_insert_with(|| Box::new(Session::created(None)));
    if let Some(version) = version(completion) {
        session.version = version;
    }
    match (operation, completion) {
        (Operation::Promote(promote), Completion::Refused(Refusal::StepClosed)) => {
            session.last_step = Some(promote.step.clone());
        }
        (Operation::Stage(stage), Completion::Refused(Refusal::StepClosed)) => {
            session.last_step = Some(stage.step.clone());
        }
        (_, Completion::Refused(Refusal::StatusMismatch { status, .. })) => {
            session.status = *status;
        }
        (_, Completion::Done(Reply::Snapshot(snapshot))) => {
            session.status = snapshot.status;
            session.last_step = snapshot.last_step.clone();
            session.calls = snapshot.calls.clone();
            session.state = snapshot.state.clone();
        }
        _ => {}
    }
}

fn version(completion: &Completion) -> Option<Version> {
    match completion {
        Completion::Done(
            Reply::Created { version }
            | Reply::Promoted { version, .. }
            | Reply::StatusSet { version },
        )
        | Completion::Refused(
            Refusal::SessionExists { version }
            | Refusal::StaleState { current: version, .. }
            | Refusal::StatusMismatch { version, .. },
        ) => Some(*version),
        Completion::Done(Reply::Snapshot(snapshot)) => Some(snapshot.version),
        _ => None,
    }
}

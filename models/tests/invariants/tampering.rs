//! Whatever is altered in what a session shows after an operation, some invariant objects:
//! together they leave nothing of it unsaid.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stagefault_models::{
    Call, CallState, Completion, Id, Invariant, OperationKind, Reply, Seen, StagedMark, Status,
    Value,
};

use super::walk::{scenes, walks};
use crate::words::message;

/// An alteration of what is seen, and the invariant that owns what it alters.
type Tampering = (&'static str, Invariant, fn(&mut Seen));

const TAMPERINGS: [Tampering; 16] = [
    ("a higher version", Invariant::VersionMonotonicity, |seen| seen.snapshot.version += 1),
    ("a lower version", Invariant::VersionMonotonicity, |seen| seen.snapshot.version -= 1),
    ("a message more", Invariant::AppendIdempotency, |seen| {
        seen.messages.push(message("tampered", 1));
        seen.snapshot.message_count += 1;
    }),
    ("a message less", Invariant::AppendIdempotency, |seen| {
        seen.snapshot.message_count -= u64::from(seen.messages.pop().is_some());
    }),
    ("messages turned round", Invariant::AppendIdempotency, |seen| seen.messages.reverse()),
    ("a wrong count", Invariant::AppendIdempotency, |seen| seen.snapshot.message_count += 1),
    ("staging more", Invariant::StagingCleanup, |seen| {
        let (step, call) = ("tampered".into(), "tampered".into());
        seen.snapshot.staged.push(StagedMark { step, call, at: 0 });
    }),
    ("staging less", Invariant::StagingCleanup, |seen| drop(seen.snapshot.staged.pop())),
    ("staging later", Invariant::StagingCleanup, |seen| {
        seen.snapshot.staged.iter_mut().for_each(|mark| mark.at += 1);
    }),
    ("a call more", Invariant::CallLifecycle, |seen| {
        let call = Call { run: "r1".into(), deadline: 5, state: CallState::Pending };
        seen.snapshot.calls.insert("tampered".into(), call);
    }),
    ("calls expired", Invariant::CallLifecycle, |seen| {
        seen.snapshot.calls.iter_mut().for_each(|(_, call)| call.state = CallState::Expired);
    }),
    ("calls reopened", Invariant::CallLifecycle, |seen| {
        seen.snapshot.calls.iter_mut().for_each(|(_, call)| call.state = CallState::Pending);
    }),
    ("another status", Invariant::Coordination, |seen| {
        let other = seen.snapshot.status == Status::Failed;
        seen.snapshot.status = if other { Status::Active } else { Status::Failed };
    }),
    ("a run more", Invariant::Coordination, |seen| seen.snapshot.runs.push("tampered".into())),
    ("the other flag", Invariant::Coordination, |seen| {
        seen.snapshot.interrupt = !seen.snapshot.interrupt;
    }),
    ("another state", Invariant::Atomicity, |seen| {
        seen.snapshot.state.insert(Id::from("tampered"), Value::Null);
    }),
];

#[test]
fn whatever_is_altered_in_what_is_seen_some_invariant_objects() {
    walks(150, |walk| {
        for honest in scenes(walk) {
            for (name, _, tamper) in TAMPERINGS {
                let mut scene = honest.clone();
                let Some(after) = &mut scene.after else { continue };
                tamper(after);
                if scene.after != honest.after {
                    prop_assert!(scene.breach().is_some(), "{}: {:#?}", name, scene);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn what_an_innocent_operation_altered_is_named_by_who_owns_it() {
    let innocent = [OperationKind::Load, OperationKind::ReadMessages];
    walks(150, |walk| {
        for honest in scenes(walk) {
            if !innocent.contains(&honest.operation.kind()) {
                continue;
            }
            for (name, owner, tamper) in TAMPERINGS {
                let mut scene = honest.clone();
                let Some(after) = &mut scene.after else { continue };
                tamper(after);
                if scene.after != honest.after {
                    let named = scene.breach().map(|(invariant, _)| invariant);
                    prop_assert_eq!(named, Some(owner), "{}: {:#?}", name, scene);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn whatever_is_altered_in_a_reply_but_what_was_read_some_invariant_objects() {
    let altered = std::cell::RefCell::new(BTreeMap::new());
    walks(150, |walk| {
        for mut scene in scenes(walk) {
            let Completion::Done(reply) = &mut scene.completion else { continue };
            if misstate(reply, &scene.session) {
                *altered.borrow_mut().entry(scene.operation.kind()).or_insert(0) += 1;
                prop_assert!(scene.breach().is_some(), "{:#?}", scene);
            }
        }
        Ok(())
    });
    assert_eq!(altered.into_inner().len(), 9, "every reply that says something was altered");
}

/// Alters the reply, if it says something that an invariant speaks of.
fn misstate(reply: &mut Reply, session: &Id) -> bool {
    match reply {
        Reply::Created { version } | Reply::StatusSet { version } => *version += 1,
        Reply::Promoted { applied, .. } => *applied += 1,
        Reply::Discarded { calls } => *calls += 1,
        Reply::Appended { total, .. } => *total += 1,
        Reply::RunBegun { turn } => *turn += 1,
        Reply::Interrupt { taken } => *taken = !*taken,
        Reply::CallsExpired(calls) => calls.push(stagefault_models::ExpiredCall {
            session: session.clone(),
            call: "tampered".into(),
        }),
        Reply::Cleaned { sessions, .. } => sessions.push(session.clone()),
        _ => return false,
    }
    true
}

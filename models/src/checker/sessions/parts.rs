//! A recorded history, split by session.
//!
//! A sweep is one operation of every known session, over the same interval: each has its
//! part of the reply, and where the sweep is in doubt each part is, on its own. What had no
//! effect for certain is left out. A session that only a sweep's reply names is known too,
//! so that the reply is found out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::super::Called;
use super::Asked;
use crate::{Completion, History, Id, Recorded, Reply};

type Part<'a> = Called<Asked<'a>, Cow<'a, Completion>>;

/// The operations of each session, those of the sweeps among them.
pub fn calls(history: &History) -> Vec<Part<'_>> {
    let sessions = sessions(history);
    let mut calls = Vec::with_capacity(history.operations.len());
    for (place, recorded) in history.operations.iter().enumerate() {
        if has_no_effect(recorded) {
            continue;
        }
        match recorded.operation.session() {
            Some(session) => calls.push(part(place, recorded, session, sorted)),
            None => sweep(place, recorded, &sessions, &mut calls),
        }
    }
    calls
}

/// Every session that an operation or a sweep's reply names.
fn sessions(history: &History) -> BTreeSet<&Id> {
    let mut sessions = BTreeSet::new();
    for recorded in &history.operations {
        sessions.extend(recorded.operation.session());
        match (recorded.operation.session(), done(recorded)) {
            (None, Some(Reply::CallsExpired(expired))) => {
                sessions.extend(expired.iter().map(|call| &call.session));
            }
            (None, Some(Reply::Cleaned { sessions: removed, staged })) => {
                sessions.extend(removed);
                sessions.extend(staged.iter().map(|staged| &staged.session));
            }
            _ => {}
        }
    }
    sessions
}

fn done(recorded: &Recorded) -> Option<&Reply> {
    match &recorded.returned.as_ref()?.completion {
        Completion::Done(reply) => Some(reply),
        _ => None,
    }
}

fn has_no_effect(recorded: &Recorded) -> bool {
    let returned = recorded.returned.as_ref();
    returned.is_some_and(|returned| matches!(returned.completion, Completion::NotApplied(_)))
}

/// What the operation asks of this session, and what of its completion is about it.
fn part<'a>(
    place: usize,
    recorded: &'a Recorded,
    session: &Id,
    seen: impl FnOnce(&'a Completion) -> Cow<'a, Completion>,
) -> Part<'a> {
    let returned = recorded.returned.as_ref().and_then(|returned| match &returned.completion {
        Completion::Unknown(_) => None,
        completion => Some((returned.at, seen(completion))),
    });
    let operation =
        Asked { session: session.clone(), operation: &recorded.operation, recorded: place };
    Called { operation, called: recorded.called, returned }
}

/// The completion, with lists in the model's order.
fn sorted(completion: &Completion) -> Cow<'_, Completion> {
    match completion {
        Completion::Done(Reply::Snapshot(snapshot)) if !snapshot.staged.is_sorted() => {
            let mut completion = completion.clone();
            if let Completion::Done(reply) = &mut completion {
                reply.sort();
            }
            Cow::Owned(completion)
        }
        _ => Cow::Borrowed(completion),
    }
}

/// The parts of a sweep.
fn sweep<'a>(
    place: usize,
    recorded: &'a Recorded,
    sessions: &BTreeSet<&Id>,
    calls: &mut Vec<Part<'a>>,
) {
    let empty = match done(recorded) {
        Some(Reply::CallsExpired(_)) => Some(Reply::CallsExpired(Vec::new())),
        Some(Reply::Cleaned { .. }) => {
            Some(Reply::Cleaned { sessions: Vec::new(), staged: Vec::new() })
        }
        // A refusal, or a reply to another question, is every session's.
        _ => None,
    };
    let mut parts = done(recorded).map(parts_of).unwrap_or_default();
    for session in sessions {
        calls.push(part(place, recorded, session, |completion| match &empty {
            None => Cow::Borrowed(completion),
            Some(empty) => {
                let mut reply = parts.remove(*session).unwrap_or_else(|| empty.clone());
                reply.sort();
                Cow::Owned(Completion::Done(reply))
            }
        }));
    }
}

/// The reply's part for each session that it names.
fn parts_of(reply: &Reply) -> BTreeMap<&Id, Reply> {
    let mut parts = BTreeMap::new();
    match reply {
        Reply::CallsExpired(expired) => {
            for call in expired {
                let part = parts.entry(&call.session);
                if let Reply::CallsExpired(part) =
                    part.or_insert_with(|| Reply::CallsExpired(Vec::new()))
                {
                    part.push(call.clone());
                }
            }
        }
        Reply::Cleaned { sessions, staged } => {
            let new = || Reply::Cleaned { sessions: Vec::new(), staged: Vec::new() };
            for session in sessions {
                if let Reply::Cleaned { sessions, .. } = parts.entry(session).or_insert_with(new) {
                    sessions.push(session.clone());
                }
            }
            for row in staged {
                let part = parts.entry(&row.session).or_insert_with(new);
                if let Reply::Cleaned { staged, .. } = part {
                    staged.push(row.clone());
                }
            }
        }
        _ => {}
    }
    parts
}

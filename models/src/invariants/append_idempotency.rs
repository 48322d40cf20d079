//! Append idempotency: no message id twice, order kept, nothing lost or altered.
//!
//! What was there stays in front, whatever happens. What is added is judged of operations
//! that were done; messages that a refused one left behind are for atomicity to name.

use std::collections::BTreeSet;

use super::{Observation, Seen};
use crate::{Id, Message, Operation, Promote, Reply};

pub(super) fn breach(observation: &Observation<'_>) -> Option<String> {
    let (before, after) = observation.lived_through()?;
    repeated(&after.messages)
        .or_else(|| rewritten(&before.messages, &after.messages))
        .or_else(|| miscounted(after))
        .or_else(|| {
            let added = &after.messages[before.messages.len()..];
            added_wrongly(observation.operation, observation.reply()?, &before.messages, added)
        })
}

fn repeated(messages: &[Message]) -> Option<String> {
    let mut ids = BTreeSet::new();
    let twice = messages.iter().find(|message| !ids.insert(&message.id))?;
    Some(format!("message {:?} is there twice", twice.id))
}

/// The messages before are an exact prefix of those after.
fn rewritten(before: &[Message], after: &[Message]) -> Option<String> {
    let place = (0..before.len()).find(|&place| after.get(place) != before.get(place))?;
    let id = &before[place].id;
    Some(match after.get(place) {
        None => format!("message {id:?} is lost"),
        Some(found) if found.id == *id => format!("message {id:?} came back with another body"),
        Some(found) => format!("message {:?} stands in the place of message {id:?}", found.id),
    })
}

/// The session counts the messages that it holds.
fn miscounted(after: &Seen) -> Option<String> {
    let (counted, read) = (after.snapshot.message_count, after.messages.len());
    (counted != read as u64)
        .then(|| format!("the session counts {counted} messages and {read} can be read"))
}

/// Exactly the new ones of the messages asked for are added, in the order of the request,
/// and the reply counts them truly.
fn added_wrongly(
    operation: &Operation,
    reply: &Reply,
    before: &[Message],
    added: &[Message],
) -> Option<String> {
    let new = match new_messages(before, requested(operation)) {
        Ok(new) => new,
        Err(id) => return Some(format!("message {id:?} was accepted again with another body")),
    };
    if !added.iter().eq(new.iter().copied()) {
        let (new, added) = (ids(new), ids(added));
        return Some(format!("{new:?} were new of the messages asked for, {added:?} were added"));
    }
    let (new, all) = (new.len() as u64, (before.len() + added.len()) as u64);
    match reply {
        Reply::Promoted { appended, .. } if *appended != new => {
            Some(format!("the reply counts {appended} new messages, there are {new}"))
        }
        Reply::Appended { appended, total } if (*appended, *total) != (new, all) => Some(format!(
            "the reply counts {appended} new messages and {total} in all, there are {new} and {all}"
        )),
        _ => None,
    }
}

fn requested(operation: &Operation) -> &[Message] {
    match operation {
        Operation::Promote(Promote { messages, .. })
        | Operation::AppendMessages { messages, .. } => messages,
        _ => &[],
    }
}

/// Those whose id is not there yet, also not earlier in the request; `Err` names the first
/// that is there with another body.
fn new_messages<'a>(
    before: &'a [Message],
    requested: &'a [Message],
) -> Result<Vec<&'a Message>, &'a Id> {
    let mut new: Vec<&Message> = Vec::new();
    for message in requested {
        let known = before.iter().chain(new.iter().copied()).find(|known| known.id == message.id);
        match known {
            None => new.push(message),
            Some(known) if known.body == message.body => {}
            Some(_) => return Err(&message.id),
        }
    }
    Ok(new)
}

fn ids<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<&'a Id> {
    messages.into_iter().map(|message| &message.id).collect()
}

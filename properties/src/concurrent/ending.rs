//! The end of an episode: nothing in doubt, everything read, the raw rows audited, the
//! sessions deleted, and nothing left of them.
//!
//! What is read and deleted is part of the history, so the checker holds the last state of
//! every session against all that went before. The rows are held against what was read. Where
//! writers run freely, they share these operations, each on a session of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::join;

use stagefault_models::audit::{self, Audit, Finding};
use stagefault_models::contract::MAX_PAGE;
use stagefault_models::{
    Backend, Change, Completion, History, Id, Operation, Refusal, Reply, Scope, Seen, Session,
    SessionState, Stage, StagedMark, Store, StoreModel,
};

use super::free::together;
use super::run::{Run, Stopped};
use super::source::Source;
use crate::violation::EpisodeError;

/// What was found when the operations were over.
#[derive(Clone, Debug, Default)]
pub struct Aftermath {
    /// Every session that was named, as it was read; `None`: there was none.
    pub seen: BTreeMap<Id, Option<Seen>>,
    /// The raw rows at that moment.
    pub rows: Audit,
    /// The raw rows after the sessions were deleted.
    pub left: Audit,
    /// What was left on the server, when faults, if there were any, had healed.
    pub left_behind: Vec<Finding>,
}

/// Why the end could not be reached.
pub(super) enum Cut {
    Stopped(usize, Stopped),
    Trouble(EpisodeError),
}

impl From<(usize, Stopped)> for Cut {
    fn from((index, stopped): (usize, Stopped)) -> Self {
        Cut::Stopped(index, stopped)
    }
}

impl<E: Into<EpisodeError>> From<E> for Cut {
    fn from(error: E) -> Self {
        Cut::Trouble(error.into())
    }
}

/// How often a writer may fail to read when no more faults come: it may find out only by that
/// that its connection is gone.
const TRIES: u32 = 2;

/// No more faults come, and so every writer goes on with the handle that it has.
pub(super) async fn all_go_on<S: Store>(run: &mut Run<'_, S, impl Source>) -> Result<(), Cut> {
    let named = run.model.sessions().map(|(id, _)| id).find(|id| id.is_valid());
    let Some(session) = named.cloned() else { return Ok(()) };
    for writer in 0..run.stores.len() as u32 {
        for number in 1..=TRIES {
            let index = run.history.operations.len();
            let load = Operation::Load { session: session.clone() };
            match run.alone(writer, load).await? {
                Completion::Done(_) | Completion::Refused(_) => break,
                Completion::NotApplied(_) | Completion::Unknown(_) if number < TRIES => {}
                Completion::NotApplied(failure) | Completion::Unknown(failure) => {
                    return Err(Cut::Stopped(index, Stopped::Failed(failure)));
                }
            }
        }
    }
    Ok(())
}

/// Reads, audits and deletes everything. Nothing is open any more.
pub(super) async fn end<B: Backend, S: Store>(
    run: &mut Run<'_, S, impl Source>,
    backend: &B,
) -> Result<Aftermath, Cut> {
    if let Some(store) = run.stores.iter_mut().flatten().next() {
        store.settle(&Scope::default()).await;
    }
    let named = run.model.sessions().map(|(id, _)| id.clone());
    let ids: Vec<Id> = named.filter(Id::is_valid).collect();
    // Nothing is written any more, so both see the same state.
    let (seen, rows) = join!(read(run, &ids), backend.audit(&ids));
    let (seen, rows) = (seen?, rows?);
    let present = seen.iter().filter(|(_, seen)| seen.is_some());
    let deletions = present.map(|(id, _)| Operation::DeleteSession { session: id.clone() });
    answered(run, deletions.collect()).await?;
    let left = backend.audit(&ids).await?;
    Ok(Aftermath { seen, rows, left, left_behind: Vec::new() })
}

/// All that can be seen of the sessions.
async fn read<S: Store>(
    run: &mut Run<'_, S, impl Source>,
    ids: &[Id],
) -> Result<BTreeMap<Id, Option<Seen>>, Cut> {
    let loads = ids.iter().map(|id| Operation::Load { session: id.clone() });
    let loaded = answered(run, loads.collect()).await?;
    let seen = loaded.into_iter().map(|answer| match answer {
        Ok(Reply::Snapshot(snapshot)) => {
            Some(Seen { snapshot: snapshot.into_inner(), messages: Vec::new() })
        }
        _ => None,
    });
    let mut seen: BTreeMap<Id, Option<Seen>> = ids.iter().cloned().zip(seen).collect();
    let present = seen.iter_mut().filter_map(|(id, seen)| Some((id, seen.as_mut()?)));
    read_messages(run, present.collect()).await?;
    Ok(seen)
}

/// Reads these sessions' messages, page by page.
async fn read_messages<S: Store>(
    run: &mut Run<'_, S, impl Source>,
    mut sessions: Vec<(&Id, &mut Seen)>,
) -> Result<(), Cut> {
    loop {
        sessions.retain(|(_, seen)| (seen.messages.len() as u64) < seen.snapshot.message_count);
        if sessions.is_empty() {
            return Ok(());
        }
        let next_page = |(id, seen): &(&Id, &mut Seen)| {
            let offset = seen.messages.len() as u64;
            Operation::ReadMessages { session: (*id).clone(), offset, limit: MAX_PAGE }
        };
        let pages = answered(run, sessions.iter().map(next_page).collect()).await?;
        let mut pages = pages.into_iter();
        sessions.retain_mut(|(_, seen)| match pages.next() {
            Some(Ok(Reply::Page { messages, .. })) if !messages.is_empty() => {
                seen.messages.extend(messages);
                true
            }
            // The checker will say what is wrong with that.
            _ => false,
        });
    }
}

/// Executes operations that the end of the episode depends on, and of which none depends on
/// another.
async fn answered<S: Store>(
    run: &mut Run<'_, S, impl Source>,
    operations: Vec<Operation>,
) -> Result<Vec<Result<Reply, Refusal>>, Cut> {
    let first = run.history.operations.len();
    let completions = together(run, operations).await?;
    let tormented = run.was_tormented();
    let answers = (first..).zip(completions).map(|(index, completion)| match completion {
        Completion::Done(reply) => Ok(Ok(reply)),
        Completion::Refused(refusal) => Ok(Err(refusal)),
        // Where something was broken on purpose, nobody else is to blame.
        Completion::NotApplied(failure) | Completion::Unknown(failure) if tormented => {
            Err(Cut::Stopped(index, Stopped::Failed(failure)))
        }
        Completion::NotApplied(failure) | Completion::Unknown(failure) => {
            let operation = run.history.operations[index].operation.kind();
            Err(EpisodeError::Failed { operation, failure }.into())
        }
    });
    answers.collect()
}

impl Aftermath {
    /// What is wrong with the raw rows: they are not what was read, or something is left.
    pub fn findings(&self, history: &History) -> Vec<Finding> {
        let read = self.seen.iter().map(|(id, seen)| SessionState {
            id: id.clone(),
            session: seen.as_ref().map(|seen| Box::new(self.session(id, seen, history))),
        });
        let gone = self.seen.keys().cloned().map(SessionState::absent);
        let mut findings = audit::compare(&read.collect(), &self.rows);
        findings.extend(audit::compare(&gone.collect::<StoreModel>(), &self.left));
        findings
    }

    /// The session that was read, with the staged changes, which no read shows, as the rows
    /// have them if anybody staged them so.
    fn session(&self, id: &Id, seen: &Seen, history: &History) -> Session {
        let Seen { snapshot, messages } = seen;
        let mut session = Session::created(snapshot.expires_at);
        session.version = snapshot.version;
        session.status = snapshot.status;
        session.state = snapshot.state.clone();
        session.messages.clone_from(messages);
        session.calls = snapshot.calls.clone();
        session.runs = snapshot.runs.clone();
        session.interrupt = snapshot.interrupt;
        session.last_step.clone_from(&snapshot.last_step);
        for mark in snapshot.staged.iter() {
            let key = (mark.step.clone(), mark.call.clone());
            let row = self.rows.get(id).and_then(|rows| rows.staged.get(&key));
            let row = row.map_or(&[][..], |row| &*row.changes);
            let changes = staged(history, id, mark, row);
            session.staged.insert(key, stagefault_models::model::Staged { at: mark.at, changes });
        }
        session
    }
}

/// What somebody staged under this mark: what the row has, or else what it should have.
fn staged(history: &History, id: &Id, mark: &StagedMark, row: &[Change]) -> Arc<[Change]> {
    let mut candidates = history.operations.iter().filter_map(|recorded| {
        let Operation::Stage(Stage { session, step, call, at, changes }) = &recorded.operation
        else {
            return None;
        };
        let same = (session, step, call, *at) == (id, &mark.step, &mark.call, mark.at);
        same.then_some(changes)
    });
    let first = candidates.clone().next();
    let found = candidates.find(|changes| ***changes == *row).or(first);
    found.cloned().unwrap_or_default()
}

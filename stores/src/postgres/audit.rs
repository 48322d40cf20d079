//! The raw rows of some sessions, read past the store: also those whose session is gone.

use sqlx::postgres::PgRow;
use stagefault_models::audit::{Audit, RawHead, RawSession};
use stagefault_models::model::Staged;
use stagefault_models::{Call, Failure, Id, Message, Scope};

use super::failure::failure;
use super::link::Link;
use super::row::{Read, call_state, id, json, kind, texts, unsigned};

/// Every row that bears one of the ids, with the kind of its table: one statement, and so
/// one moment.
const ROWS: &str = "
    SELECT 0, session, version, NULL::text, NULL::text, state, NULL::text FROM sessions
    WHERE session = ANY ($1)
    UNION ALL
    SELECT 1, session, position, id, NULL, body, NULL FROM messages WHERE session = ANY ($1)
    UNION ALL
    SELECT 2, session, at, step, call, changes, NULL FROM staged WHERE session = ANY ($1)
    UNION ALL
    SELECT 3, session, deadline, call, run, state, result FROM calls WHERE session = ANY ($1)
    UNION ALL
    SELECT 4, session, turn, run, NULL, NULL, NULL FROM runs WHERE session = ANY ($1)";

pub(super) async fn audit(link: &mut Link, sessions: &[Id]) -> Result<Audit, Failure> {
    link.prepare(Scope::default().deadline).await?;
    let answer = link.send(sqlx::query(ROWS).bind(texts(sessions))).await;
    let rows = answer.map_err(|error| failure("at the audit", error.driver()))?.rows;
    let mut audit = Audit::new();
    for row in &rows {
        add(row, audit.entry(id(row, 1)?).or_default())?;
    }
    for session in audit.values_mut() {
        session.messages.sort_unstable_by_key(|(position, _)| *position);
        session.runs.sort_unstable();
    }
    Ok(audit)
}

/// Adds the row to its session.
fn add(row: &PgRow, session: &mut RawSession) -> Read<()> {
    let number = unsigned(row, 2)?;
    match kind(row)? {
        0 => session.head = Some(RawHead { version: number, state: json(row, 5)? }),
        1 => {
            session.messages.push((number, Message { id: id(row, 3)?, body: json(row, 5)? }));
        }
        2 => {
            let staged = Staged { at: number, changes: json(row, 5)? };
            session.staged.insert((id(row, 3)?, id(row, 4)?), staged);
        }
        3 => {
            let call = Call { run: id(row, 4)?, deadline: number, state: call_state(row, 5)? };
            session.calls.insert(id(row, 3)?, call);
        }
        _ => session.runs.push((number, id(row, 3)?)),
    }
    Ok(())
}

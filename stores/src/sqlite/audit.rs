//! The raw rows of some sessions, read past the store: also those whose session is gone.

use sqlx::sqlite::SqliteRow;
use stagefault_models::audit::{Audit, RawHead, RawSession};
use stagefault_models::model::Staged;
use stagefault_models::{Call, Failure, Id, Message};

use super::failure::failure;
use super::link::Link;
use super::row::{Read, call_state, id, integer, json, to_json, unsigned};

/// Every row that bears one of the ids, with the kind of its table: one statement, and so
/// one moment.
const ROWS: &str = "
    WITH wanted AS MATERIALIZED (SELECT value AS session FROM json_each(?1))
    SELECT 0, session, version, NULL, NULL, state, NULL FROM sessions
    WHERE session IN wanted
    UNION ALL
    SELECT 1, session, position, id, NULL, body, NULL FROM messages WHERE session IN wanted
    UNION ALL
    SELECT 2, session, at, step, call, changes, NULL FROM staged WHERE session IN wanted
    UNION ALL
    SELECT 3, session, deadline, call, run, state, result FROM calls WHERE session IN wanted
    UNION ALL
    SELECT 4, session, turn, run, NULL, NULL, NULL FROM runs WHERE session IN wanted";

pub(super) async fn audit(link: &mut Link, sessions: &[Id]) -> Result<Audit, Failure> {
    let query = sqlx::query(ROWS).bind(to_json(sessions)?);
    let rows = link.send(query, 1).await.map_err(|error| failure("at the audit", &error))?.rows;
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
fn add(row: &SqliteRow, session: &mut RawSession) -> Read<()> {
    let number = unsigned(row, 2)?;
    match integer(row, 0)? {
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

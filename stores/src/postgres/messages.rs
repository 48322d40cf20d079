//! Messages: reading a page, finding which of a request are new, and appending those.

use std::collections::HashMap;

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgRow;
use stagefault_models::{Id, Message, Refusal, Reply, Value};

use super::failure::Stop;
use super::guarded::{Decision, guarded};
use super::planted::{self, Planting};
use super::row::{Read, clamped, id, integer, json, kind, optional_text, parse, text, unsigned};
use super::run::{Query, Run};
use crate::flaws::{Flaw, Flaws};

/// The session's count of messages, marked by a null id, and the page. The positions are
/// dense, so a range of them is a page.
const PAGE: &str = "
    SELECT coalesce((SELECT position + 1 FROM messages WHERE session = $1
                     ORDER BY position DESC LIMIT 1), 0), NULL::text, NULL::text
    FROM sessions WHERE session = $1
    UNION ALL
    SELECT position, id, body FROM messages
    WHERE session = $1 AND position >= $2 AND position < $3";

/// The session's revision and count of messages, and the messages of the request that are
/// there, each with its kind. (Each is looked up. For `= ANY` the server would read all of
/// the session's messages, by a plan that it made when there were few.)
const READ: &str = "
    SELECT 0, revision, NULL::text, NULL::text,
           coalesce((SELECT position + 1 FROM messages WHERE session = $1
                     ORDER BY position DESC LIMIT 1), 0)
    FROM sessions WHERE session = $1
    UNION ALL
    SELECT 1, NULL, found.id, found.body, NULL
    FROM unnest($2::text[]) AS wanted (id) CROSS JOIN LATERAL
         (SELECT id, body FROM messages WHERE session = $1 AND id = wanted.id LIMIT 1) AS found";

/// The guard of an append; `head` is the session's row, if it held.
const GUARD: &str = "
    WITH head AS (
        UPDATE sessions SET revision = revision + 1 WHERE session = $1 AND revision = $2
        RETURNING session
    )";

const GUARD_FLAW: Planting =
    (Flaw::AppendChecksFirst, "AND revision = $2", "AND $2::bigint IS NOT NULL");

/// The part of a guarded statement that appends, with what [`bind`] binds.
const INSERT: &str = "
    INSERT INTO messages (session, position, id, body)
    SELECT head.session, $3 + new.number - 1, new.id, new.body
    FROM head, unnest($4::text[], $5::text[]) WITH ORDINALITY AS new (id, body, number)";

/// With [`Flaw::AppendChecksFirst`]. The schema has each position once, and so the later of
/// two messages for it is the one that stays.
const INSERT_OVER: &str = "
    INSERT INTO messages (session, position, id, body)
    SELECT head.session, $3 + new.number - 1, new.id, new.body
    FROM head, unnest($4::text[], $5::text[]) WITH ORDINALITY AS new (id, body, number)
    ON CONFLICT (session, position) DO UPDATE SET id = excluded.id, body = excluded.body";

/// With [`Flaw::AppendNotIdempotent`]. The schema has each id once, so whoever appends it
/// again has to move it; of one that is listed twice the last counts.
const INSERT_AGAIN: &str = "
    INSERT INTO messages (session, position, id, body)
    SELECT DISTINCT ON (new.id) head.session, $3 + new.number - 1, new.id, new.body
    FROM head, unnest($4::text[], $5::text[]) WITH ORDINALITY AS new (id, body, number)
    ORDER BY new.id, new.number DESC
    ON CONFLICT (session, id) DO UPDATE SET position = excluded.position";

pub(super) async fn read_messages(
    run: &mut Run<'_>,
    session: &Id,
    offset: u64,
    limit: u64,
) -> Result<Reply, Stop> {
    let (first, end) = (clamped(offset), clamped(offset.saturating_add(limit)));
    let rows = run.read(sqlx::query(PAGE).bind(session.as_str()).bind(first).bind(end)).await?;
    let mut total = None;
    let mut page = Vec::with_capacity(rows.len());
    for row in &rows {
        let number = unsigned(row, 0)?;
        match optional_text(row, 1)? {
            None => total = Some(number),
            Some(_) => page.push((number, Message { id: id(row, 1)?, body: json(row, 2)? })),
        }
    }
    let total = total.ok_or(Refusal::SessionNotFound)?;
    page.sort_unstable_by_key(|(position, _)| *position);
    let messages = page.into_iter().map(|(_, message)| message).collect();
    Ok(Reply::Page { messages, total })
}

pub(super) async fn append_messages(
    run: &mut Run<'_>,
    session: &Id,
    messages: &[Message],
) -> Result<Reply, Stop> {
    let flaws = run.flaws;
    let read = || sqlx::query(READ).bind(session.as_str()).bind(ids(messages));
    guarded(run, session, read, |rows| appended(session, messages, rows, flaws)).await
}

fn appended(
    session: &Id,
    messages: &[Message],
    rows: &[PgRow],
    flaws: Flaws,
) -> Result<Decision, Stop> {
    let mut head = None;
    let mut stored = Vec::with_capacity(rows.len());
    for row in rows {
        match kind(row)? {
            0 => head = Some((integer(row, 1)?, unsigned(row, 4)?)),
            _ => stored.push((text(row, 2)?, text(row, 3)?)),
        }
    }
    let (revision, count) = head.ok_or(Refusal::SessionNotFound)?;
    let new = new_messages(messages, stored, flaws)?;
    let appended = new.len() as u64;
    let reply = Reply::Appended { appended, total: count + appended };
    let write = (appended > 0).then(|| {
        let guard = planted::text(GUARD, flaws, &[GUARD_FLAW]);
        let query = sqlx::query(AssertSqlSafe([guard.as_str(), insertion(flaws)].concat()));
        bind(query.bind(session.as_str()).bind(revision), count, new)
    });
    Ok(Decision { write, reply })
}

/// The part of a guarded statement that appends: to the row `head`, if the guard held.
pub(super) fn insertion(flaws: Flaws) -> &'static str {
    match flaws {
        _ if flaws.has(Flaw::AppendNotIdempotent) => INSERT_AGAIN,
        _ if flaws.has(Flaw::AppendChecksFirst) => INSERT_OVER,
        _ => INSERT,
    }
}

/// Binds what [`insertion`] needs: the messages are to stand from position `first` on.
pub(super) fn bind(query: Query, first: u64, new: Vec<New<'_>>) -> Query {
    let (ids, bodies): (Vec<&str>, Vec<String>) = new.into_iter().unzip();
    query.bind(clamped(first)).bind(ids).bind(bodies)
}

/// The messages' ids, as an array.
pub(super) fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

/// A message to be inserted: its id, and its body as it is stored.
pub(super) type New<'m> = (&'m str, String);

/// A body under an id that is taken.
enum Taken<'a> {
    Stored(&'a str),
    Listed(&'a Value),
}

impl Taken<'_> {
    fn equals(&self, body: &Value) -> Read<bool> {
        match self {
            Taken::Listed(listed) => Ok(*listed == body),
            Taken::Stored(text) => Ok(**text == body.to_json() || parse::<Value>(text)? == *body),
        }
    }
}

/// Those of the messages whose id is not stored yet, nor earlier in the list. `stored` are
/// the bodies under the messages' ids.
///
/// # Errors
/// `MessageConflict` at the first message whose id is taken by another body.
pub(super) fn new_messages<'m>(
    messages: &'m [Message],
    stored: Vec<(&str, &str)>,
    flaws: Flaws,
) -> Result<Vec<New<'m>>, Stop> {
    let stored = stored.into_iter().map(|(id, body)| (id, Taken::Stored(body)));
    let mut taken: HashMap<&str, Taken<'_>> = stored.collect();
    let mut new = Vec::with_capacity(messages.len());
    for message in messages {
        match taken.get(message.id.as_str()) {
            None => {
                taken.insert(&message.id, Taken::Listed(&message.body));
                new.push((message.id.as_str(), message.body.to_json()));
            }
            Some(body) if body.equals(&message.body)? => {
                if flaws.has(Flaw::AppendNotIdempotent) {
                    new.push((message.id.as_str(), message.body.to_json()));
                }
            }
            Some(_) => return Err(Refusal::MessageConflict { id: message.id.clone() }.into()),
        }
    }
    Ok(new)
}

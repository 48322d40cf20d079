//! Messages: reading a page, finding which of a request are new, and inserting those.

use std::collections::HashMap;

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteRow;
use stagefault_models::{Failure, Id, Message, Refusal, Reply, Value};

use super::failure::Stop;
use super::row::{Read, clamped, id, json, optional_text, parse, text, to_json, unsigned};
use super::run::{Run, Transaction};
use crate::flaws::{Flaw, Flaws};

/// The session's count of messages, marked by a null id, and the page. The positions are
/// dense, so a range of them is a page.
const PAGE: &str = "
    SELECT coalesce((SELECT position + 1 FROM messages WHERE session = ?1
                     ORDER BY position DESC LIMIT 1), 0), NULL, NULL
    FROM sessions WHERE session = ?1
    UNION ALL
    SELECT position, id, body FROM messages
    WHERE session = ?1 AND position >= ?2 AND position < ?3";

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

/// The messages' ids as a JSON array, for `json_each`: one statement for any number.
pub(super) fn ids(messages: &[Message]) -> Read<String> {
    let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
    to_json(&ids)
}

/// A message to be inserted: its id, and its body as it is stored.
pub(super) type New<'m> = (&'m Id, String);

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

/// Those of the messages whose id is not stored yet, nor earlier in the list. `stored`
/// are the rows under the messages' ids: the id, then the body, from this column on.
///
/// # Errors
/// `MessageConflict` at the first message whose id is taken by another body.
pub(super) fn new_messages<'m>(
    messages: &'m [Message],
    stored: &[&SqliteRow],
    column: usize,
    flaws: Flaws,
) -> Result<Vec<New<'m>>, Stop> {
    let mut taken = HashMap::with_capacity(messages.len());
    for row in stored {
        taken.insert(text(row, column)?, Taken::Stored(text(row, column + 1)?));
    }
    let mut new = Vec::with_capacity(messages.len());
    for message in messages {
        match taken.get(message.id.as_str()) {
            None => {
                taken.insert(&message.id, Taken::Listed(&message.body));
                new.push((&message.id, message.body.to_json()));
            }
            Some(body) if body.equals(&message.body)? => {
                if flaws.has(Flaw::AppendNotIdempotent) {
                    new.push((&message.id, message.body.to_json()));
                }
            }
            Some(_) => return Err(Refusal::MessageConflict { id: message.id.clone() }.into()),
        }
    }
    Ok(new)
}

/// The most rows of one INSERT. It bounds how many texts the statement cache meets, and
/// stays far below SQLite's limit of variables.
const ROWS: usize = 32;

/// Inserts the messages from position `first` on.
pub(super) async fn insert(
    transaction: &mut Transaction<'_, '_>,
    session: &Id,
    first: u64,
    new: Vec<New<'_>>,
    flaws: Flaws,
) -> Result<(), Failure> {
    let mut position = clamped(first);
    let mut new = new.into_iter();
    while new.len() > 0 {
        let rows = new.len().min(ROWS);
        let mut query = sqlx::query(AssertSqlSafe(insertion(rows, flaws)))
            .bind(session.as_str())
            .bind(position);
        for (id, body) in new.by_ref().take(rows) {
            query = query.bind(id.as_str()).bind(body);
        }
        transaction.execute(query).await?;
        position += rows as i64;
    }
    Ok(())
}

/// The text of an INSERT of so many messages.
fn insertion(rows: usize, flaws: Flaws) -> String {
    // The schema has each id and each position once, so whoever appends one again has to
    // replace it.
    let again = flaws.has(Flaw::AppendNotIdempotent) || flaws.has(Flaw::AppendChecksFirst);
    let or = if again { "OR REPLACE " } else { "" };
    let mut sql = format!("INSERT {or}INTO messages (session, position, id, body) VALUES ");
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ", " };
        sql += &format!("{comma}(?1, ?2 + {row}, ?{}, ?{})", 3 + 2 * row, 4 + 2 * row);
    }
    sql
}

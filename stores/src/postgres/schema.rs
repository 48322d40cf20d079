//! The schema: its name, the mark that says that it is ours, making it and removing it.
//!
//! The mark is the schema's comment. Every new connection reads it before anything else,
//! together with where its statements would act, so none of them can act elsewhere: not in
//! a schema that somebody else made under our name, nor in another one because something
//! on the way to the server lost the search path.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Row, raw_sql};
use stagefault_models::BackendError;

use super::link::{Link, SendError, timeouts};
use super::options::PostgresOptions;

/// The comment of a schema or database of ours, with its version.
pub(super) const MARK: &str = "stagefault.postgres/2";

const TABLES: &str = include_str!("schema.sql");

/// The tables and the sequence, each before what it refers to.
const DROP_TABLES: &str =
    "DROP TABLE runs, calls, staged, messages, sessions; DROP SEQUENCE births";

/// The longest name that PostgreSQL does not cut.
pub(super) const LONGEST_NAME: usize = 63;

/// A schema's name, and how to connect to work in it.
pub(super) struct Schema {
    name: String,
    connect: PgConnectOptions,
    location: String,
}

/// What a new connection found.
pub(super) enum Found {
    Nothing,
    Ours,
    /// Why it must not be touched.
    NotOurs(String),
}

impl Schema {
    /// The schema of this name, there or not, on a server that is allowed.
    pub(super) fn named(options: &PostgresOptions, name: &str) -> Result<Arc<Self>, BackendError> {
        let location = format!("schema {name} of {}", options.location());
        if !is_plain(name) {
            let reason = format!(
                "the name of a schema is 1 to {LONGEST_NAME} small letters, digits and \
                 underscores, and no digit comes first"
            );
            return Err(BackendError::Unreachable { location, reason });
        }
        let connect = options
            .allowed()?
            .clone()
            .application_name(name)
            .options([
                ("search_path", name),
                ("default_transaction_isolation", options.isolation()),
                // Compiling a statement takes longer than any of ours.
                ("jit", "off"),
                // Planning does too, and a plan made for the arguments would be no better:
                // each statement looks up by a key.
                ("plan_cache_mode", "force_generic_plan"),
                // And it is made while there are few rows, and kept when the tables are full of
                // dead ones: to read them from end to end, or by a bitmap, which tells no index
                // what is dead, would take longer and longer.
                ("enable_seqscan", "off"),
                ("enable_bitmapscan", "off"),
            ])
            // What a caller has to know it is told; and the texts would end in logs.
            .disable_statement_logging();
        Ok(Arc::new(Schema { name: name.to_owned(), connect, location }))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The schema and its server, without secrets.
    pub(super) fn location(&self) -> String {
        self.location.clone()
    }

    /// How to connect, for operations with this deadline.
    pub(super) fn connect_options(&self, deadline: Duration) -> PgConnectOptions {
        let settings = timeouts(deadline).map(|(name, time)| (name, time.as_millis()));
        self.connect.clone().options(settings)
    }

    /// The question what there is. Its answer is for [`recognise`](Self::recognise).
    pub(super) fn question(&self) -> AssertSqlSafe<String> {
        AssertSqlSafe(format!(
            "SELECT coalesce(obj_description(oid, 'pg_namespace'), ''), \
                    coalesce(current_schema(), ''), pg_backend_pid() \
             FROM pg_namespace WHERE nspname = '{}'",
            self.name
        ))
    }

    pub(super) fn recognise(&self, rows: &[PgRow]) -> Result<Found, sqlx::Error> {
        let Some(row) = rows.first() else { return Ok(Found::Nothing) };
        let (comment, current): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        Ok(if comment.is_empty() {
            Found::NotOurs("it has no comment, where our mark would be".to_owned())
        } else if comment != MARK {
            Found::NotOurs(format!("its comment is {comment:?}, and our mark is {MARK:?}"))
        } else if current != self.name {
            Found::NotOurs(format!("statements would act in schema {current:?} instead"))
        } else {
            Found::Ours
        })
    }

    /// Makes the schema, with mark and tables, or nothing of it: several statements in one
    /// message are one transaction.
    pub(super) async fn make(&self, link: &mut Link) -> Result<(), SendError> {
        let name = &self.name;
        let sql = format!("CREATE SCHEMA {name}; COMMENT ON SCHEMA {name} IS '{MARK}'; {TABLES}");
        link.send(raw_sql(AssertSqlSafe(sql))).await.map(drop)
    }

    /// Removes the schema with what is ours in it. What somebody else put there, or made to
    /// depend on it, makes the server refuse, and then all stays: there is no CASCADE.
    pub(super) async fn remove(&self, link: &mut Link) -> Result<(), SendError> {
        let sql = format!("{DROP_TABLES}; DROP SCHEMA {}", self.name);
        link.send(raw_sql(AssertSqlSafe(sql))).await.map(drop)
    }
}

/// Whether the name needs no quotes, and so reads the same wherever it is put.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a schema or database could not be made or named so because there is one.
pub(super) fn is_taken(sqlstate: Option<&str>) -> bool {
    const DUPLICATE_SCHEMA: &str = "42P06";
    const DUPLICATE_DATABASE: &str = "42P04";
    // Of two that do it at once, the one who comes second meets the catalog's own index.
    const UNIQUE_VIOLATION: &str = "23505";
    matches!(sqlstate, Some(DUPLICATE_SCHEMA | DUPLICATE_DATABASE | UNIQUE_VIOLATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_needs_no_quotes_is_taken() {
        let longest = "x".repeat(LONGEST_NAME);
        for name in ["stagefault_01af", "_", "s", &longest] {
            assert!(is_plain(name), "{name}");
        }
        let longer = "x".repeat(LONGEST_NAME + 1);
        for name in ["", "1s", "S", "a-b", "a.b", "a\"b", "a'b", "a b", "ü", "a\0", &longer] {
            assert!(!is_plain(name), "{name}");
        }
    }
}

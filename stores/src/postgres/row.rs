//! Reading columns, and the JSON texts in them, without trusting them.

use litemap::LiteMap;
use serde::Serializer;
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::postgres::PgRow;
use stagefault_models::{CallState, Failure, Id, Status, Value};

use super::failure::damaged;

pub(super) type Read<T> = Result<T, Failure>;

/// The row of a query that finds at most one.
pub(super) fn only(rows: &[PgRow]) -> Option<&PgRow> {
    rows.first()
}

/// What a statement that reads several tables says first of each row.
pub(super) fn kind(row: &PgRow) -> Read<i32> {
    row.try_get(0).map_err(damaged)
}

pub(super) fn flag(row: &PgRow, column: usize) -> Read<bool> {
    row.try_get(column).map_err(damaged)
}

pub(super) fn integer(row: &PgRow, column: usize) -> Read<i64> {
    row.try_get(column).map_err(damaged)
}

/// A version, time, count or position.
pub(super) fn unsigned(row: &PgRow, column: usize) -> Read<u64> {
    u64::try_from(integer(row, column)?).map_err(damaged)
}

pub(super) fn optional_unsigned(row: &PgRow, column: usize) -> Read<Option<u64>> {
    let number: Option<i64> = row.try_get(column).map_err(damaged)?;
    number.map(|number| u64::try_from(number).map_err(damaged)).transpose()
}

pub(super) fn text(row: &PgRow, column: usize) -> Read<&str> {
    row.try_get(column).map_err(damaged)
}

pub(super) fn optional_text(row: &PgRow, column: usize) -> Read<Option<&str>> {
    row.try_get(column).map_err(damaged)
}

pub(super) fn id(row: &PgRow, column: usize) -> Read<Id> {
    text(row, column).map(Id::from)
}

pub(super) fn status(row: &PgRow, column: usize) -> Read<Status> {
    let name = text(row, column)?;
    Status::from_name(name).ok_or_else(|| damaged(format_args!("no status is named {name:?}")))
}

/// A column of JSON text.
pub(super) fn json<T: DeserializeOwned>(row: &PgRow, column: usize) -> Read<T> {
    parse(text(row, column)?)
}

pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Read<T> {
    serde_json::from_str(text).map_err(damaged)
}

/// A call's state from its name and, in the column after that, its result.
pub(super) fn call_state(row: &PgRow, column: usize) -> Read<CallState> {
    match text(row, column)? {
        "pending" => Ok(CallState::Pending),
        "expired" => Ok(CallState::Expired),
        "submitted" => json(row, column + 1).map(CallState::Submitted),
        other => Err(damaged(format_args!("no state of a call is named {other:?}"))),
    }
}

/// The JSON text of something whose keys are strings.
pub(super) fn to_json(value: &(impl serde::Serialize + ?Sized)) -> Read<String> {
    serde_json::to_string(value).map_err(damaged)
}

/// A state as a JSON object, also when it is empty.
pub(super) fn state_to_json(state: &LiteMap<Id, Value>) -> Read<String> {
    let mut text = Vec::with_capacity(256);
    serde_json::Serializer::new(&mut text).collect_map(state.iter()).map_err(damaged)?;
    String::from_utf8(text).map_err(damaged)
}

/// A number as PostgreSQL's bigint; what is past its range is at its end.
pub(super) fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Ids as an array, for `= ANY`.
pub(super) fn texts(ids: &[Id]) -> Vec<&str> {
    ids.iter().map(Id::as_str).collect()
}

//! Sends what was traced on PostgreSQL again, through sqlx alone.

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Either, Executor, raw_sql};
use stagefault_stores::postgres::Traced;

/// What a statement brings: its rows, and how many it changed.
pub async fn send(
    connection: &mut PgConnection,
    traced: &Traced,
) -> Result<(Vec<PgRow>, u64), sqlx::Error> {
    let Traced { sql, arguments } = traced;
    let mut stream = match arguments {
        Some(arguments) => connection.fetch_many(sqlx::query_with(sql.clone(), arguments.clone())),
        // A BEGIN and its like.
        None => connection.fetch_many(raw_sql(sql.clone())),
    };
    let (mut rows, mut changes) = (Vec::new(), 0);
    while let Some(part) = stream.try_next().await? {
        match part {
            Either::Left(result) => changes = result.rows_affected(),
            Either::Right(row) => rows.push(row),
        }
    }
    Ok((rows, changes))
}

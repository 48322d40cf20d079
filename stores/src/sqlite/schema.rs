//! The schema, its versions, and the mark that says that a database is ours.
//!
//! The mark is SQLite's own `application_id`, the schema's version its `user_version`. A
//! database is brought up to date whenever it is opened: each step takes the schema from
//! one version to the next, and all of them, with the mark, are one transaction.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Executor, query_scalar};

/// The `application_id` of our databases: "StFa".
const APPLICATION_ID: i64 = 0x5374_4661;

/// The step from each schema version to the next, from version 0: a database without tables.
const STEPS: [&str; 1] = [include_str!("schema.sql")];

/// The newest schema version that this build knows.
const NEWEST: i64 = STEPS.len() as i64;

/// What a database says it is.
pub(super) struct Mark {
    application_id: i64,
    version: i64,
}

impl Mark {
    pub(super) async fn read(connection: &mut SqliteConnection) -> Result<Mark, sqlx::Error> {
        let application_id =
            query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await?;
        let version = query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await?;
        Ok(Mark { application_id, version })
    }

    /// Why a database with this mark is not to be touched; `None`: it is ours.
    pub(super) fn objection(&self) -> Option<String> {
        let Mark { application_id, version } = self;
        if *application_id != APPLICATION_ID {
            return Some(format!("its application_id is {application_id:#x}"));
        }
        if !(1..=NEWEST).contains(version) {
            return Some(format!(
                "its schema has version {version}, this build knows 1 to {NEWEST}"
            ));
        }
        None
    }

    /// A database that holds nothing yet.
    fn is_blank(&self) -> bool {
        self.application_id == 0 && self.version == 0
    }
}

/// Takes the steps that the database lacks, and marks it; answers why it must not, if so.
///
/// This begins a writing transaction even when there is nothing to do, so a database that
/// cannot be written is found when it is opened.
pub(super) async fn bring_up_to_date(
    connection: &mut SqliteConnection,
) -> Result<Option<String>, sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    // Read within the transaction: of two that open the database, the second finds it done.
    let mark = Mark::read(&mut transaction).await?;
    if !mark.is_blank()
        && let Some(objection) = mark.objection()
    {
        transaction.rollback().await?;
        return Ok(Some(objection));
    }
    for version in mark.version..NEWEST {
        transaction.execute(STEPS[version as usize]).await?;
    }
    if mark.version < NEWEST {
        let mark =
            format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {NEWEST}");
        transaction.execute(AssertSqlSafe(mark)).await?;
    }
    transaction.commit().await?;
    Ok(None)
}

//! The database to work in on a server that is not ours alone: one that Stagefault made and
//! marked, and no other.
//!
//! The mark is the database's comment. A database that is not there yet is made under a
//! random name, marked, and only then given the name that is wanted: so nobody ever meets
//! it without its mark, and of two who make it at once one finds the other's. Whoever made a
//! database removes it at the end, unless somebody else is connected to it by then.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, raw_sql};
use stagefault_models::BackendError;
use tokio::time::timeout;

use super::failure::{backend_error, failure};
use super::link::sqlstate;
use super::options::PostgresOptions;
use super::schema::{LONGEST_NAME, MARK, is_plain, is_taken};

/// How long finding, making or removing a database may take: the server copies files for
/// it, and syncs them.
const LIMIT: Duration = Duration::from_secs(60);

/// Databases that every server has, to be in while another one is made or removed.
const ELSEWHERE: [&str; 2] = ["postgres", "template1"];

/// A database on somebody's server, which Stagefault made.
#[derive(Debug)]
pub struct PostgresDatabase {
    options: PostgresOptions,
    name: String,
    /// Whether it was made here, and so is to be removed here.
    made: bool,
}

impl PostgresDatabase {
    /// The database that the options name, which is made if it is not there. Where they name
    /// none, one of a random name is made.
    ///
    /// # Errors
    /// [`BackendError::NotOurs`] when there is such a database without our mark, or with that
    /// of another version; nothing is changed. [`BackendError::Unreachable`] when the host is
    /// not allowed, nobody answers there, we are not let in, or may not make a database.
    pub async fn claim(server: &PostgresOptions) -> Result<Self, BackendError> {
        within_limit(server, async {
            let mut session = Session::on(server).await?;
            let claimed = session.claim(server.database()).await;
            session.end().await;
            let (name, made) = claimed?;
            Ok(PostgresDatabase { options: server.in_database(&name), name, made })
        })
        .await
    }

    /// How to connect to it.
    pub fn options(&self) -> &PostgresOptions {
        &self.options
    }

    /// The database and its server, without secrets.
    pub fn location(&self) -> String {
        self.options.location()
    }

    /// Removes the database if it was made here.
    ///
    /// # Errors
    /// That it is no longer ours, or the server refuses: somebody is connected to it.
    pub async fn remove(self) -> Result<(), BackendError> {
        if !self.made {
            return Ok(());
        }
        within_limit(&self.options, async {
            let mut session = Session::on(&self.options).await?;
            let removed = match session.find(&self.name).await {
                Ok(Found::Ours) => session.drop_database(&self.name).await,
                Ok(Found::Nothing) => Ok(()),
                Ok(Found::NotOurs(reason)) => Err(session.not_ours(reason)),
                Err(error) => Err(error),
            };
            session.end().await;
            removed
        })
        .await
    }
}

/// What there is under a database's name.
enum Found {
    Nothing,
    Ours,
    /// Why it must not be touched.
    NotOurs(String),
}

/// A connection to a database that every server has.
struct Session {
    connection: PgConnection,
    location: String,
}

impl Session {
    async fn on(server: &PostgresOptions) -> Result<Self, BackendError> {
        let location = server.location();
        let options = server.allowed()?;
        let mut opened = connect(options, ELSEWHERE[0]).await;
        // An owner may have removed it.
        if opened.as_ref().is_err_and(|error| sqlstate(error) == Some("3D000")) {
            opened = connect(options, ELSEWHERE[1]).await;
        }
        match opened {
            Ok(connection) => Ok(Session { connection, location }),
            Err(error) => Err(backend_error(location, failure("connecting", &error))),
        }
    }

    /// The name of a database that is ours, and whether it was made just now.
    async fn claim(&mut self, wanted: Option<&str>) -> Result<(String, bool), BackendError> {
        let Some(wanted) = wanted else {
            return Ok((self.make().await?, true));
        };
        loop {
            match self.find(wanted).await? {
                Found::Ours => return Ok((wanted.to_owned(), false)),
                Found::NotOurs(reason) => return Err(self.not_ours(reason)),
                Found::Nothing if !is_plain(wanted) => return Err(self.no_name(wanted)),
                Found::Nothing => {}
            }
            let made = self.make().await?;
            let renamed = self.execute(&format!("ALTER DATABASE {made} RENAME TO {wanted}")).await;
            let Err(error) = renamed else { return Ok((wanted.to_owned(), true)) };
            self.drop_database(&made).await?;
            if !is_taken(sqlstate(&error)) {
                return Err(self.failed("naming the database", &error));
            }
            // Somebody else made one of that name meanwhile.
        }
    }

    async fn find(&mut self, name: &str) -> Result<Found, BackendError> {
        const QUESTION: &str = "
            SELECT coalesce(pg_catalog.shobj_description(oid, 'pg_database'), '')
            FROM pg_catalog.pg_database WHERE datname = $1";
        let rows = sqlx::query(QUESTION).bind(name).fetch_all(&mut self.connection).await;
        let rows = rows.map_err(|error| self.failed("looking at the database's mark", &error))?;
        let Some(row) = rows.first() else { return Ok(Found::Nothing) };
        let comment: &str = row
            .try_get(0)
            .map_err(|error| self.failed("looking at the database's mark", &error))?;
        Ok(if comment == MARK {
            Found::Ours
        } else if comment.is_empty() {
            Found::NotOurs("it has no comment, where our mark would be".to_owned())
        } else {
            Found::NotOurs(format!("its comment is {comment:?}, and our mark is {MARK:?}"))
        })
    }

    /// Makes a database of a random name, with the mark. It is a copy of the one that nobody
    /// can have changed, and takes all characters whatever the server's own encoding.
    async fn make(&mut self) -> Result<String, BackendError> {
        let name = format!("stagefault_{:016x}", rand::random::<u64>());
        let make = format!(
            "CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
        );
        let made = self.execute(&make).await;
        made.map_err(|error| self.failed("making a database", &error))?;
        let mark = format!("COMMENT ON DATABASE {name} IS '{MARK}'");
        if let Err(error) = self.execute(&mark).await {
            let failed = self.failed("marking a database", &error);
            self.drop_database(&name).await?;
            return Err(failed);
        }
        Ok(name)
    }

    async fn drop_database(&mut self, name: &str) -> Result<(), BackendError> {
        let dropped = self.execute(&format!("DROP DATABASE {name}")).await;
        dropped.map_err(|error| self.failed(&format!("removing database {name}"), &error))
    }

    /// Executes one statement that is no transaction.
    async fn execute(&mut self, sql: &str) -> Result<(), sqlx::Error> {
        raw_sql(AssertSqlSafe(sql)).execute(&mut self.connection).await.map(drop)
    }

    async fn end(self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "a connection was gone before it was closed");
        }
    }

    fn failed(&self, doing: &str, error: &sqlx::Error) -> BackendError {
        backend_error(self.location.clone(), failure(doing, error))
    }

    fn not_ours(&self, reason: String) -> BackendError {
        BackendError::NotOurs { location: self.location.clone(), reason }
    }

    fn no_name(&self, name: &str) -> BackendError {
        let reason = format!(
            "there is no database {name:?}, and to be made it must be named by 1 to \
             {LONGEST_NAME} small letters, digits and underscores, and no digit comes first"
        );
        BackendError::Unreachable { location: self.location.clone(), reason }
    }
}

async fn connect(options: &PgConnectOptions, database: &str) -> Result<PgConnection, sqlx::Error> {
    let options = options.clone().database(database).application_name("stagefault");
    // Nothing that somebody put into this database is to be met by our statements.
    options.options([("search_path", "pg_catalog")]).disable_statement_logging().connect().await
}

async fn within_limit<T>(
    server: &PostgresOptions,
    work: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    timeout(LIMIT, work).await.unwrap_or_else(|_| {
        let reason = format!("no answer within {LIMIT:?}");
        Err(BackendError::Unreachable { location: server.location(), reason })
    })
}

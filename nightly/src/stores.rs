//! From a store's name on the command line to namespaces of it.

use std::fmt;
use std::io;
use std::path::Path;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use stagefault_chaos::torment::Available;
use stagefault_models::BoxedNamespaces;
use stagefault_properties::catalogue;
use stagefault_stores::flaws::{Flaw, Flaws};
use stagefault_stores::memory::MemoryNamespaces;
use stagefault_stores::postgres::PostgresNamespaces;
use stagefault_stores::sqlite::SqliteNamespaces;
use tempfile::TempDir;

use crate::error::CommandError;
use crate::postgres::Postgres;
use crate::{artifacts, print, secrets};

/// A store that this build has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum StoreName {
    /// Striped locks in this process's memory: the fastest, to try the lanes themselves
    Memory,
    /// SQLite, built in, with a file of its own
    Sqlite,
    /// PostgreSQL: a throw-away server made from the programs on this machine, or --url
    Postgres,
}

impl StoreName {
    /// The store's name on the command line and in a schedule's origin.
    pub fn as_str(self) -> &'static str {
        match self {
            StoreName::Memory => "memory",
            StoreName::Sqlite => "sqlite",
            StoreName::Postgres => "postgres",
        }
    }

    /// The store of that name.
    pub fn from_name(name: &str) -> Option<StoreName> {
        StoreName::value_variants().iter().copied().find(|store| store.as_str() == name)
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What a lane is to run against.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The store.
    pub store: StoreName,
    /// The bug planted in it.
    pub flaw: Option<Flaw>,
    /// Whether its connections and its server are to break.
    pub chaos: bool,
}

impl Choice {
    /// The bugs to plant.
    ///
    /// # Errors
    /// That this build has none, or the store no place for this one.
    pub fn flaws(self) -> Result<Flaws, CommandError> {
        let Some(flaw) = self.flaw else { return Ok(Flaws::none()) };
        let (store, able) = (self.store.as_str(), catalogue::of(flaw).stores);
        if !able.contains(&store) {
            return Err(CommandError::NoPlaceForFlaw { flaw: flaw.name(), store, able });
        }
        Flaws::planted(flaw).ok_or_else(|| {
            let words = secrets::command_line();
            CommandError::NoFlawsInBuild(print::shell_line(
                words.iter().skip(1).map(String::as_str),
            ))
        })
    }

    /// The options that choose the same again.
    pub fn options(self) -> Vec<String> {
        let mut options = vec!["--store".to_owned(), self.store.to_string()];
        if let Some(flaw) = self.flaw {
            options.extend(["--flaw".to_owned(), flaw.to_string()]);
        }
        options
    }
}

/// Namespaces of a store, and the folder that holds what they keep on disk.
pub struct Stores {
    namespaces: BoxedNamespaces,
    folder: Option<TempDir>,
    /// What can be done to them, where anything is to be.
    available: Option<Available>,
}

impl Stores {
    /// In a folder `store` within this one, if the store is a file.
    ///
    /// # Errors
    /// That this build has no flaws, the folder cannot be written, or there is no server.
    pub async fn within(
        folder: &Path,
        choice: Choice,
        postgres: &Postgres,
    ) -> Result<Self, CommandError> {
        let make_folder = || {
            // Without a random part: the folder is the run's own.
            let made = tempfile::Builder::new().prefix("store").rand_bytes(0).tempdir_in(folder);
            let path = folder.join("store");
            made.map_err(|error| CommandError::Write { path, error: artifacts::bare(error) })
        };
        Stores::open(choice, postgres, make_folder).await
    }

    /// In a folder among the system's temporary files, if the store is a file.
    ///
    /// # Errors
    /// That this build has no flaws, there is no room for temporary files, or no server.
    pub async fn temporary(choice: Choice, postgres: &Postgres) -> Result<Self, CommandError> {
        let make_folder = || {
            let made = tempfile::Builder::new().prefix("stagefault-").tempdir();
            let folder = std::env::temp_dir();
            made.map_err(|error| CommandError::Temporary { folder, error: artifacts::bare(error) })
        };
        Stores::open(choice, postgres, make_folder).await
    }

    async fn open(
        choice: Choice,
        postgres: &Postgres,
        make_folder: impl FnOnce() -> Result<TempDir, CommandError>,
    ) -> Result<Self, CommandError> {
        let flaws = choice.flaws()?;
        Ok(match choice.store {
            StoreName::Memory => Stores {
                namespaces: BoxedNamespaces::new(MemoryNamespaces { flaws }),
                folder: None,
                available: None,
            },
            StoreName::Sqlite => {
                let folder = make_folder()?;
                let files = SqliteNamespaces::within(folder.path().to_owned(), flaws);
                let namespaces = BoxedNamespaces::new(files);
                Stores { namespaces, folder: Some(folder), available: None }
            }
            StoreName::Postgres if choice.chaos => {
                let tormented = postgres.tormented(flaws).await?;
                let available = Some(tormented.available());
                Stores { namespaces: BoxedNamespaces::new(tormented), folder: None, available }
            }
            StoreName::Postgres => {
                let schemas = PostgresNamespaces { options: postgres.options().await?, flaws };
                let namespaces = BoxedNamespaces::new(schemas);
                Stores { namespaces, folder: None, available: None }
            }
        })
    }

    /// Where fresh namespaces come from.
    pub fn namespaces(&self) -> &BoxedNamespaces {
        &self.namespaces
    }

    /// What can be done to their connections and server, where anything is to be.
    pub fn available(&self) -> Option<Available> {
        self.available
    }

    /// Removes all that is left on disk.
    pub fn remove(self) {
        let Some(folder) = self.folder else { return };
        let path = folder.path().to_owned();
        match folder.close() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                print::note(format_args!("warning: cannot remove {}: {error}", path.display()));
            }
            _ => {}
        }
    }
}

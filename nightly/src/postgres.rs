//! The PostgreSQL server of a command: a throw-away one of its own, started when the first
//! store needs it, or the running one that `--url` names.
//!
//! One of its own is gone with the process, however that ends, for it has a guardian
//! ([`stagefault_chaos::servers`]). On a running one the command works in a database that
//! Stagefault made and marked, and in no other; one that it made now it removes at the end.

use std::sync::Arc;

use stagefault_chaos::servers::{Options, PostgresServer};
use stagefault_chaos::torment::{MortalServer, TormentedNamespaces};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::{PostgresDatabase, PostgresOptions};
use tokio::sync::OnceCell;

use crate::cli::PostgresArguments;
use crate::error::CommandError;
use crate::print;
use crate::secrets::without_password;
use crate::stores::StoreName;

/// Names a running server, where `--url` does not.
pub const URL_VARIABLE: &str = "STAGEFAULT_POSTGRES_URL";

/// The server, of which there is at most one in a process.
pub struct Postgres {
    given: Option<Given>,
    used: OnceCell<Used>,
    /// Another one of our own, which may be killed.
    mortal: OnceCell<Arc<MortalServer>>,
}

/// A running server that is to be used.
struct Given {
    options: PostgresOptions,
    url: String,
    /// Whether the command line names it, and not the environment.
    by_option: bool,
    allowed: Vec<String>,
}

/// What is used once a store has needed it.
enum Used {
    Own(Box<PostgresServer>, PostgresOptions),
    Given(PostgresDatabase),
}

impl Postgres {
    /// The server that the arguments or the environment name, or else one of our own. No
    /// server is started or asked.
    ///
    /// # Errors
    /// That the URL is none, or its host is another machine that is not allowed.
    pub fn of(arguments: &PostgresArguments) -> Result<Self, CommandError> {
        let by_environment = || std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty());
        let by_option = arguments.url.is_some();
        let given = match arguments.url.clone().or_else(by_environment) {
            None => None,
            Some(url) => Some(Given::at(url, by_option, &arguments.allow_remote)?),
        };
        Ok(Postgres { given, used: OnceCell::new(), mortal: OnceCell::new() })
    }

    /// Makes sure that a server that the command line names is one for these stores.
    ///
    /// # Errors
    /// That none of them is postgres.
    pub fn expect_use(
        &self,
        stores: impl IntoIterator<Item = StoreName>,
    ) -> Result<(), CommandError> {
        let named = self.given.as_ref().is_some_and(|given| given.by_option);
        if named && stores.into_iter().all(|store| store != StoreName::Postgres) {
            return Err(CommandError::UrlWithoutUse);
        }
        Ok(())
    }

    /// How to connect. The first time this starts the server, or finds the database.
    ///
    /// # Errors
    /// That there is no server, or none that we may use.
    pub async fn options(&self) -> Result<PostgresOptions, CommandError> {
        let used = self.used.get_or_try_init(async || match &self.given {
            None => start(),
            Some(given) => given.claim().await,
        });
        Ok(match used.await? {
            Used::Own(_, options) => options.clone(),
            Used::Given(database) => database.options().clone(),
        })
    }

    /// Namespaces whose connections break, and whose server does where it is our own.
    ///
    /// # Errors
    /// That there is no server, or none that we may use.
    pub async fn tormented(&self, flaws: Flaws) -> Result<TormentedNamespaces, CommandError> {
        if self.given.is_some() {
            return Ok(TormentedNamespaces::on_given(self.options().await?, flaws));
        }
        let mortal = self.mortal.get_or_try_init(async || MortalServer::start()).await?;
        Ok(TormentedNamespaces::on_own(mortal.clone(), flaws)?)
    }

    /// The arguments that name the same server again. What the environment says it says to
    /// the next command too.
    pub fn arguments(&self) -> Vec<String> {
        let Some(given) = &self.given else { return Vec::new() };
        let url = given.by_option.then(|| ["--url".to_owned(), without_password(&given.url)]);
        let allowed = given.allowed.iter().map(|host| ["--allow-remote".to_owned(), host.clone()]);
        url.into_iter().chain(allowed).flatten().collect()
    }

    /// Whether [`arguments`](Self::arguments) lack the password.
    pub fn lacks_password(&self) -> bool {
        let given = self.given.as_ref().filter(|given| given.by_option);
        given.is_some_and(|given| without_password(&given.url) != given.url)
    }

    /// Removes what is left: all of a server of our own, and of a running one the database
    /// that was made there.
    pub async fn close(self) {
        match self.used.into_inner() {
            None => {}
            // Stops and removes it, and waits until that is done.
            Some(Used::Own(server, _)) => drop(server),
            Some(Used::Given(database)) => {
                let location = database.location();
                if let Err(error) = database.remove().await {
                    print::note(format_args!("warning: database {location} stays: {error}"));
                }
            }
        }
    }
}

/// It takes up to a second, in which nothing else of the command is under way.
fn start() -> Result<Used, CommandError> {
    let server = PostgresServer::start(Options::default())?;
    tracing::info!(folder = %server.socket_dir().display(), "started a PostgreSQL server");
    let options = PostgresOptions::from_url(&server.url())?;
    Ok(Used::Own(Box::new(server), options))
}

impl Given {
    fn at(url: String, by_option: bool, allowed: &[String]) -> Result<Self, CommandError> {
        let options = PostgresOptions::from_url(&url).map_err(CommandError::BadUrl)?;
        let options = allowed.iter().fold(options, |options, host| options.allow_host(host));
        if let Some(host) = options.forbidden_host() {
            return Err(CommandError::RemoteHost(host.to_owned()));
        }
        Ok(Given { options, url, by_option, allowed: allowed.to_vec() })
    }

    async fn claim(&self) -> Result<Used, CommandError> {
        let database = PostgresDatabase::claim(&self.options).await;
        let database = database.map_err(CommandError::GivenServer)?;
        // So that somebody can remove it by hand, should the process be killed.
        print::note(format_args!("working in database {}", database.location()));
        Ok(Used::Given(database))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;

    use rustix::process::{Pid, test_kill_process};

    use super::*;
    use crate::within_a_runtime;

    #[test]
    fn of_a_server_of_our_own_nothing_is_left_after_a_panic_of_ours() {
        let arguments = PostgresArguments { url: None, allow_remote: Vec::new() };
        let mut seen: Option<(u32, PathBuf)> = None;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            within_a_runtime(&arguments, async |context| {
                context.postgres.options().await?;
                let Some(Used::Own(server, _)) = context.postgres.used.get() else {
                    panic!("it is in use");
                };
                seen = Some((server.pid().expect("it runs"), server.socket_dir().to_owned()));
                panic!("as if stagefault had a bug");
            })
        }));
        assert!(panicked.is_err());
        let (pid, folder) = seen.expect("a server was started");
        let postmaster = Pid::from_raw(pid.try_into().expect("a process")).expect("a process");
        assert!(test_kill_process(postmaster).is_err(), "the server goes on");
        assert!(!folder.exists(), "{} is left", folder.display());
    }
}

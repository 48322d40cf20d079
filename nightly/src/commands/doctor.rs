//! `stagefault doctor`: which stores can run here, what each needs, and how to get it.
//!
//! Nothing is taken for granted: each store replays a schedule of one operation, on the
//! server or in the folder that a run would use.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::Serialize;
use stagefault_chaos::servers::Installation;
use stagefault_models::Namespaces;
use stagefault_properties::{script, sequential};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::sqlite;

use crate::cli::DoctorArguments;
use crate::documents::{as_seconds, to_json};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::stores::{Choice, StoreName, Stores};
use crate::{Context, print};

/// What was found on this machine.
#[derive(Debug, Serialize)]
struct Findings {
    /// Always `stagefault.doctor/1`.
    format: &'static str,
    /// The version of stagefault.
    version: &'static str,
    /// Whether this build can plant flaws.
    flaws: bool,
    stores: Vec<Finding>,
}

/// What was found of one store.
#[derive(Debug, Serialize)]
struct Finding {
    store: StoreName,
    runs: bool,
    /// Why it does not run, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// How long it took until it had executed an operation.
    #[serde(serialize_with = "as_seconds", rename = "seconds")]
    elapsed: Duration,
    /// The version of what the store is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The folder of the server's programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    /// The user that a throw-away server runs as, if that is another one than ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_as: Option<&'static str>,
    /// What it needs, and how to get that.
    needs: &'static str,
}

/// Tries every store, and says what came of it.
///
/// # Errors
/// That it cannot be printed.
pub async fn doctor(
    arguments: &DoctorArguments,
    context: Context<'_>,
) -> Result<Exit, CommandError> {
    let mut stores = Vec::new();
    for store in StoreName::value_variants() {
        stores.push(examine(*store, context).await);
        if let Some(signal) = context.signals.received() {
            return Ok(Exit::Interrupted(signal));
        }
    }
    let (format, version) = ("stagefault.doctor/1", env!("CARGO_PKG_VERSION"));
    let findings = Findings { format, version, flaws: Flaws::ENABLED, stores };
    if arguments.json {
        print::result(to_json(&findings).trim_end())?;
    } else {
        print::result(&findings)?;
    }
    let all_run = findings.stores.iter().all(|finding| finding.runs);
    Ok(if all_run { Exit::Held } else { Exit::CouldNotRun })
}

async fn examine(store: StoreName, context: Context<'_>) -> Finding {
    let started = Instant::now();
    let tried = attempt(store, context).await;
    let elapsed = started.elapsed();
    let problem = tried.err().map(|error| error.to_string());
    let (mut version, mut folder, mut runs_as) = (None, None, None);
    match store {
        StoreName::Memory => {}
        StoreName::Sqlite => version = sqlite::version().await.ok(),
        StoreName::Postgres => {
            // If it is not found, that is the problem already; or another server is used.
            if let Ok(installed) = Installation::find() {
                version = Some(installed.version);
                folder = Some(installed.folder);
                runs_as = installed.runs_as;
            }
        }
    }
    let (runs, needs) = (problem.is_none(), needs(store));
    Finding { store, runs, problem, elapsed, version, folder, runs_as, needs }
}

/// Executes one operation.
async fn attempt(store: StoreName, context: Context<'_>) -> Result<(), CommandError> {
    let stores =
        Stores::temporary(Choice { store, flaw: None, chaos: false }, context.postgres).await?;
    let schedule = script::schedule([script::create("s")]);
    let replayed = match stores.namespaces().fresh().await {
        Ok(backend) => sequential::replay(backend, &schedule).await,
        Err(error) => Err(error.into()),
    };
    stores.remove();
    let place = format!("trying {store}");
    replayed.map_err(|error| CommandError::Episode { place, error })
}

fn needs(store: StoreName) -> &'static str {
    match store {
        StoreName::Memory => "nothing",
        StoreName::Sqlite => {
            "a folder that can be written: the run's own (--out), and for replays the one for \
             temporary files (TMPDIR)"
        }
        StoreName::Postgres => {
            "the programs of a PostgreSQL server, on Debian and Ubuntu: sudo apt-get install \
             postgresql; or a running server, which --url names"
        }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flaws = if self.flaws { "with flaws" } else { "without flaws" };
        let how = if self.flaws { "" } else { " (build it with --features flaws to have them)" };
        writeln!(formatter, "stagefault {}, built {flaws} to plant{how}\n", self.version)?;
        let findings: Vec<String> = self.stores.iter().map(ToString::to_string).collect();
        formatter.write_str(&findings.join("\n"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took =
            format!("runs: an operation was executed after {:.1} s", self.elapsed.as_secs_f64());
        let verdict = self.problem.as_ref().map(|problem| format!("CANNOT RUN: {problem}"));
        write!(formatter, "{:<9} {}", self.store.as_str(), verdict.unwrap_or(took))?;
        if let Some(version) = &self.version {
            write!(formatter, "\n          found: version {version}")?;
        }
        if let Some(folder) = &self.folder {
            write!(formatter, " in {}", folder.display())?;
        }
        if let Some(user) = self.runs_as {
            write!(formatter, ", which runs as the user {user}, for it refuses to run as root")?;
        }
        write!(formatter, "\n          needs: {}", self.needs)
    }
}

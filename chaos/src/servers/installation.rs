//! What a throw-away server would be made of, for somebody who wants to know beforehand.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::ServerError;
use super::account::Account;
use super::binaries::Binaries;

/// The PostgreSQL server on this machine.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The folder of its programs.
    pub folder: PathBuf,
    /// Its version, such as `15.10 (Debian 15.10-0+deb12u1)`.
    pub version: String,
    /// The user that it would run as, if that is another one than ours.
    pub runs_as: Option<&'static str>,
}

impl Installation {
    /// Looks for it; nothing is started.
    pub fn find() -> Result<Self, ServerError> {
        let postgres = Binaries::find(None)?.postgres;
        let version = version(&postgres)?;
        let folder = postgres.parent().map(Path::to_owned).unwrap_or_default();
        let runs_as = Account::for_server()?.map(|account| account.name);
        Ok(Installation { folder, version, runs_as })
    }
}

/// What follows `postgres (PostgreSQL) `.
fn version(postgres: &Path) -> Result<String, ServerError> {
    let failed = |said: String| ServerError::ProgramBroken { program: postgres.to_owned(), said };
    let output = Command::new(postgres).arg("--version").output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let line = String::from_utf8_lossy(&output.stdout);
    let line = line.trim();
    Ok(line.split_once(") ").map_or(line, |(_, version)| version).to_owned())
}

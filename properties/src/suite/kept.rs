//! Failing schedules that are kept, to be replayed first the next time.

use std::io;
use std::path::{Path, PathBuf};

use stagefault_models::{Schedule, ScheduleError};

/// Why kept schedules could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// The file system refused.
    #[error("cannot use {path}: {error}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A file in the folder is no schedule.
    #[error("{path}: {error}; mend it or delete it")]
    Schedule {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: ScheduleError,
    },
}

/// The kept schedules of a folder, by name; none when there is no folder.
pub(super) fn read(folder: &Path) -> Result<Vec<(PathBuf, Schedule)>, KeptError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| KeptError::Io { path, error }
    };
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(folder)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let load = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).map_err(failed(&path))?;
        match Schedule::from_json(&text) {
            Ok(schedule) => Ok((path, schedule)),
            Err(error) => Err(KeptError::Schedule { path, error }),
        }
    };
    paths.into_iter().map(load).collect()
}

/// Keeps a schedule under a name, whole or not at all.
pub(super) fn write(folder: &Path, name: &str, schedule: &Schedule) -> Result<PathBuf, KeptError> {
    let path = folder.join(name).with_extension("json");
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        io::Write::write_all(&mut file, schedule.to_json().as_bytes())?;
        file.persist(&path).map_err(|error| error.error)
    });
    match written {
        Ok(_) => Ok(path),
        Err(error) => Err(KeptError::Io { path, error }),
    }
}

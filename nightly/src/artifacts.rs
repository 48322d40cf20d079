//! Files that a command leaves behind: each whole or not at all.
//!
//! A file is written under a hidden name beside its own, brought to disk, and renamed. So
//! a reader never sees half of one, and neither does anybody after a crash or on a full
//! disk.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::NamedTempFile;

use crate::error::CommandError;

/// Where runs go when no folder is named.
const RUNS: &str = "stagefault-runs";

/// Writes the whole file, or nothing.
///
/// # Errors
/// [`CommandError::Write`], and the file is as it was before.
pub fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let written = draft(path, text).and_then(|file| Ok(file.persist(path).map(drop)?));
    written.map_err(|error| cannot_write(path, error))
}

/// Writes the text, to be renamed to `path`.
fn draft(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".stagefault-")
        .suffix(".tmp")
        // As for any other file; the process's umask is still taken off.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Makes sure that [`write()`] would replace a file of text at most, and not a device.
///
/// # Errors
/// [`CommandError::InTheWay`].
pub fn may_replace(path: &Path) -> Result<(), CommandError> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => Err(CommandError::InTheWay(path.to_owned(), "file")),
        _ => Ok(()),
    }
}

/// The folder of one run. What was made of it goes again unless the run [began](Self::begin).
pub struct RunFolder {
    path: PathBuf,
    /// The folders that were made for it, outer ones first.
    made: Vec<PathBuf>,
    begun: bool,
}

impl RunFolder {
    /// The named folder, which is made or is there and empty; or one of a new name.
    ///
    /// # Errors
    /// That it cannot be made, or holds something.
    pub fn make(
        wanted: Option<&Path>,
        started: SystemTime,
        seed: u64,
    ) -> Result<Self, CommandError> {
        match wanted {
            Some(path) => RunFolder::named(path),
            None => RunFolder::new_among_runs(started, seed),
        }
    }

    /// The folder of a run that is to be gone on with. What its store left there goes, and
    /// what it said of its end.
    ///
    /// # Errors
    /// That these cannot be removed.
    pub fn of_earlier(path: &Path) -> Result<Self, CommandError> {
        let gone = |path: &Path, removed: io::Result<()>| match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot_write(path, error)),
            _ => Ok(()),
        };
        let (store, summary) = (path.join("store"), path.join("summary.json"));
        gone(&store, fs::remove_dir_all(&store))?;
        gone(&summary, fs::remove_file(&summary))?;
        Ok(RunFolder { path: path.to_owned(), made: Vec::new(), begun: true })
    }

    /// The named folder, for what earlier runs came to; it stays.
    ///
    /// # Errors
    /// That it cannot be made, or holds something.
    pub fn claim(path: &Path) -> Result<Self, CommandError> {
        let mut folder = RunFolder::named(path)?;
        folder.begun = true;
        Ok(folder)
    }

    fn named(path: &Path) -> Result<Self, CommandError> {
        match fs::read_dir(path) {
            Ok(mut entries) => match entries.next() {
                Some(_) => Err(CommandError::FolderInUse(path.to_owned())),
                None => Ok(RunFolder { path: path.to_owned(), made: Vec::new(), begun: false }),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut folder = RunFolder::unmade(path.to_owned());
                folder.make_missing(path).map_err(|error| cannot_write(path, error))?;
                Ok(folder)
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory && path.exists() => {
                Err(CommandError::InTheWay(path.to_owned(), "folder"))
            }
            Err(error) => Err(cannot_write(path, error)),
        }
    }

    /// `stagefault-runs/20260102T030405Z-SEED`, with a number more if that is there.
    fn new_among_runs(started: SystemTime, seed: u64) -> Result<Self, CommandError> {
        let time = humantime::format_rfc3339_seconds(started).to_string().replace(['-', ':'], "");
        let mut folder = RunFolder::unmade(Path::new(RUNS).join(format!("{time}-{seed}")));
        let mut number = 1;
        loop {
            match folder.make_missing(Path::new(RUNS)).and_then(|()| folder.make_new()) {
                Ok(()) => return Ok(folder),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    number += 1;
                    folder.path = Path::new(RUNS).join(format!("{time}-{seed}-{number}"));
                }
                Err(error) => return Err(cannot_write(&folder.path, error)),
            }
        }
    }

    fn unmade(path: PathBuf) -> Self {
        RunFolder { path, made: Vec::new(), begun: false }
    }

    /// Makes this folder and those that it is in, as far as they are missing.
    fn make_missing(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|ancestor| *ancestor != Path::new("") && !ancestor.exists())
            .collect();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => self.made.push(folder.to_owned()),
                // Another run may make the folder that all runs go to.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Makes the folder itself, which nobody has made before.
    fn make_new(&mut self) -> io::Result<()> {
        fs::create_dir(&self.path)?;
        self.made.push(self.path.clone());
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the document that says what the run is; from now on the folder stays.
    ///
    /// # Errors
    /// [`CommandError::Write`], or that another run was faster.
    pub fn begin(&mut self, run: &str) -> Result<(), CommandError> {
        let path = self.path.join("run.json");
        let draft = draft(&path, run).map_err(|error| cannot_write(&path, error))?;
        match draft.persist_noclobber(&path).map_err(|refused| refused.error) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(CommandError::FolderInUse(self.path.clone()))
            }
            Err(error) => Err(cannot_write(&path, error)),
            Ok(_) => {
                self.begun = true;
                Ok(())
            }
        }
    }

    /// Writes a file of the run; answers where it is.
    ///
    /// # Errors
    /// [`CommandError::Write`].
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, CommandError> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| cannot_write(folder, error))?;
        }
        write(&path, text)?;
        Ok(path)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.begun {
            // An empty folder goes; one that is not empty is somebody else's by now.
            self.made.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
        }
    }
}

fn cannot_write(path: &Path, error: io::Error) -> CommandError {
    CommandError::Write { path: path.to_owned(), error: bare(error) }
}

/// The system's own error, without the hidden name that was tried.
pub fn bare(error: io::Error) -> io::Error {
    let source = error.get_ref().and_then(|wrapped| wrapped.source());
    let code = source.and_then(|source| source.downcast_ref::<io::Error>()?.raw_os_error());
    code.map_or(error, io::Error::from_raw_os_error)
}

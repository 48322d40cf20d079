//! Finding and reading the schedules that the command line names.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use stagefault_models::{Schedule, ScheduleError};

use crate::cli::Against;
use crate::error::{BadSchedule, CommandError, Problem};
use crate::stores::{Choice, StoreName};

/// A schedule, where it was found, and what it is to be replayed against.
pub struct Found {
    pub path: PathBuf,
    pub schedule: Schedule,
    pub choice: Choice,
}

/// Reads one schedule.
///
/// # Errors
/// [`CommandError::BadSchedules`].
pub fn read(path: &Path, against: Against) -> Result<Found, CommandError> {
    let read = read_file(path).and_then(|schedule| found(path, schedule, against));
    read.map_err(|problem| CommandError::BadSchedules(vec![bad(path, problem)]))
}

/// Reads all schedules that the paths name: files, and folders with all that is below.
///
/// # Errors
/// [`CommandError::BadSchedules`], with every file that is none.
pub fn find(paths: &[PathBuf], against: Against) -> Result<Vec<Found>, CommandError> {
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    let mut take = |path: &Path, read: Result<Schedule, Problem>| match read
        .and_then(|schedule| found(path, schedule, against))
    {
        Ok(found) => all.push(found),
        Err(problem) => wrong.push(bad(path, problem)),
    };
    for path in paths {
        if !path.is_dir() {
            take(path, read_file(path));
            continue;
        }
        let mut some = false;
        for file in files_below(path) {
            match file {
                Ok(file) => match read_file(&file) {
                    Err(Problem::NotASchedule(error)) if is_another_document(&error) => {}
                    read => {
                        some = true;
                        take(&file, read);
                    }
                },
                Err((folder, error)) => {
                    some = true;
                    take(&folder, Err(error.into()));
                }
            }
        }
        if !some {
            take(path, Err(Problem::NoSchedules));
        }
    }
    if wrong.is_empty() { Ok(all) } else { Err(CommandError::BadSchedules(wrong)) }
}

fn read_file(path: &Path) -> Result<Schedule, Problem> {
    let text = String::from_utf8(fs::read(path)?).map_err(|_| Problem::NotText)?;
    Ok(Schedule::from_json(&text)?)
}

/// The schedule with the store that is asked for, or that it comes from.
fn found(path: &Path, schedule: Schedule, against: Against) -> Result<Found, Problem> {
    let store = match (against.store, &schedule.origin) {
        (Some(store), _) => store,
        (None, Some(origin)) => StoreName::from_name(&origin.store)
            .ok_or_else(|| Problem::UnknownStore(origin.store.clone()))?,
        (None, None) => StoreName::Sqlite,
    };
    let breaks = schedule.has_real_faults();
    if breaks && store != StoreName::Postgres {
        return Err(Problem::NothingToBreak(store.as_str()));
    }
    // Of what a store leaves behind only that lane's backend tells, also without a fault.
    let is_of_chaos = schedule.origin.as_ref().is_some_and(|origin| origin.lane == "chaos");
    let chaos = breaks || is_of_chaos && store == StoreName::Postgres;
    let choice = Choice { store, flaw: against.flaw, chaos };
    Ok(Found { path: path.to_owned(), schedule, choice })
}

fn bad(path: &Path, problem: Problem) -> BadSchedule {
    BadSchedule { path: path.to_owned(), problem }
}

/// Whether it is a document of stagefault's that is no schedule of any version.
fn is_another_document(error: &ScheduleError) -> bool {
    let ScheduleError::OtherFormat { found } = error else { return false };
    let format = found.trim_matches('"');
    format.starts_with("stagefault.") && !format.starts_with("stagefault.schedule/")
}

/// The `*.json` files in the folder and below that are to be replayed, by name; or the
/// folder that cannot be read.
fn files_below(folder: &Path) -> Vec<Result<PathBuf, (PathBuf, io::Error)>> {
    let mut files = Vec::new();
    let entries = match entries_of(folder) {
        Ok(entries) => entries,
        Err(error) => return vec![Err((folder.to_owned(), error))],
    };
    for path in &entries {
        // Links are followed to files and not to folders, for those could lead in a circle.
        if path.is_dir() {
            if !path.is_symlink() {
                files.extend(files_below(path));
            }
        } else if path.extension().is_some_and(|it| it == "json") && !has_shrunk(path, &entries) {
            files.push(Ok(path.clone()));
        }
    }
    files
}

/// What is in the folder, but for what is hidden.
fn entries_of(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let is_hidden = |path: &Path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    paths.filter(|path| !path.as_ref().is_ok_and(|path| is_hidden(path))).collect()
}

/// Whether the shrunk form of this schedule lies beside it.
fn has_shrunk(path: &Path, beside: &BTreeSet<PathBuf>) -> bool {
    let of_a_run = path.file_name().is_some_and(|name| name == "schedule.json")
        && beside.contains(&path.with_file_name("shrunk.json"));
    of_a_run || beside.contains(&shrunk_beside(path))
}

/// `NAME.shrunk.json` beside `NAME.json`.
pub fn shrunk_beside(path: &Path) -> PathBuf {
    path.with_extension("shrunk.json")
}

//! Why a command could not do its work, in one line that says what to do.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use stagefault_chaos::servers::ServerError;
use stagefault_chaos::toxiproxy::ServeError;
use stagefault_models::{BackendError, HistoryError, ScheduleError};
use stagefault_properties::violation::EpisodeError;

use crate::exit::Exit;

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A flaw is asked of a build that has none.
    #[error("this build has no flaws to plant; run: cargo run --release --features flaws -- {0}")]
    NoFlawsInBuild(String),
    /// A flaw is asked of a store that has no place for it.
    #[error("the flaw {flaw} cannot be planted in {store}, only in {}", .able.join(", "))]
    NoPlaceForFlaw {
        /// The flaw.
        flaw: &'static str,
        /// The store.
        store: &'static str,
        /// The stores that can have it.
        able: &'static [&'static str],
    },
    /// The same of all that are to be hunted.
    #[error("none of these flaws can be hunted in these stores; leave out --flaw or --store")]
    NothingToHunt,
    /// Files that are no schedules; all of them.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nerror: "))]
    BadSchedules(Vec<BadSchedule>),
    /// A file that is no history.
    #[error("{path}: {problem}")]
    BadHistory {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: HistoryProblem,
    },
    /// A file cannot be used.
    #[error("{path}: {reason}")]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The run to go on with is still under way.
    #[error("another process is running {0}")]
    FolderRuns(PathBuf),
    /// An option of the concurrent lane, and one writer.
    #[error("{0} is for the concurrent lane; add --writers 2 or more")]
    NeedsWriters(&'static str),
    /// Chaos is asked of a store that has nothing to break.
    #[error(
        "--chaos breaks connections and servers, and the {0} store has neither; add --store \
         postgres. Faults that are only injected are in every run with --writers 2 or more"
    )]
    NothingToBreak(&'static str),
    /// Chaos is asked of a profile that has none.
    #[error("--chaos needs a profile with faults for it: chaos, commits or lapses, and not {0}")]
    ProfileWithoutFaults(&'static str),
    /// A folder whose run broke nothing.
    #[error("{0} is of a run without --chaos, and so there is no matrix")]
    NoChaos(PathBuf),
    /// The folder for a run is somebody's.
    #[error("{0} is there already and is not empty; name another folder with --out")]
    FolderInUse(PathBuf),
    /// A file or folder is not to be replaced.
    #[error("{0} is there already and is not a {1}; name another place with --out")]
    InTheWay(PathBuf, &'static str),
    /// A file or folder cannot be written.
    #[error("cannot write {path}: {error}{advice}", advice = advice(.error))]
    Write {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A temporary folder cannot be made.
    #[error("cannot make a folder in {folder} for the store: {error}; TMPDIR names another place")]
    Temporary {
        /// The folder for temporary files.
        folder: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// What `--url` says is no URL of a server.
    #[error("{0}; write it as in postgres://user@localhost:5432")]
    BadUrl(BackendError),
    /// A server is named, and nothing needs it.
    #[error("--url names a PostgreSQL server, and nothing here runs on one; add --store postgres")]
    UrlWithoutUse,
    /// The server is another machine's.
    #[error(
        "{0} is not this machine, and so may be somebody's; if it is meant, allow it with \
         --allow-remote {0}"
    )]
    RemoteHost(String),
    /// The running server cannot be used.
    #[error("{0}{advice}", advice = server_advice(.0))]
    GivenServer(BackendError),
    /// There is no throw-away server.
    #[error("{0}; or name a running server with --url")]
    NoServer(#[from] ServerError),
    /// Toxiproxy's API cannot be served.
    #[error("{0}{advice}", advice = serve_advice(.0))]
    Serve(#[from] ServeError),
    /// The store cannot be used.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The store got into trouble.
    #[error("{place}: {error}")]
    Episode {
        /// Where in the run, or in which schedule.
        place: String,
        /// The trouble.
        error: EpisodeError,
    },
    /// Stagefault itself is wrong.
    #[error("stagefault has a bug: {0}; please report it, with the command line")]
    Panicked(String),
    /// The machine refused something that a command cannot do without.
    #[error("cannot {doing}: {reason}")]
    System {
        /// What it was wanted for.
        doing: &'static str,
        /// What the system said.
        reason: String,
    },
}

/// A file that is not a schedule, or none at all.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct BadSchedule {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file that should be a schedule.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is not text.
    #[error("not a schedule: it is not UTF-8 text")]
    NotText,
    /// It is something else.
    #[error(transparent)]
    NotASchedule(#[from] ScheduleError),
    /// A folder with nothing to replay.
    #[error("holds no schedule; schedules are files of format \"stagefault.schedule/1\"")]
    NoSchedules,
    /// It has faults that its store cannot meet.
    #[error(
        "it breaks connections or servers, and the {0} store has neither; choose --store postgres"
    )]
    NothingToBreak(&'static str),
    /// Its origin names a store that this build does not have.
    #[error("it comes from the store {0:?}, which this build does not have; choose with --store")]
    UnknownStore(String),
}

/// What is wrong with a file that should be a history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryProblem {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is not text.
    #[error("not a history: it is not UTF-8 text")]
    NotText,
    /// It is something else, or damaged.
    #[error(transparent)]
    NotAHistory(#[from] HistoryError),
}

impl CommandError {
    /// The exit status that it stands for.
    pub fn exit(&self) -> Exit {
        match self {
            CommandError::NoFlawsInBuild(_)
            | CommandError::NoPlaceForFlaw { .. }
            | CommandError::NothingToHunt
            | CommandError::BadSchedules(_)
            | CommandError::BadHistory { .. }
            | CommandError::BadFile { .. }
            | CommandError::FolderRuns(_)
            | CommandError::NeedsWriters(_)
            | CommandError::NothingToBreak(_)
            | CommandError::ProfileWithoutFaults(_)
            | CommandError::NoChaos(_)
            | CommandError::FolderInUse(_)
            | CommandError::InTheWay(..)
            | CommandError::BadUrl(_)
            | CommandError::UrlWithoutUse
            | CommandError::Serve(ServeError::Open(_) | ServeError::NoProxies(_)) => Exit::Usage,
            CommandError::Write { .. }
            | CommandError::Temporary { .. }
            | CommandError::Output(_)
            | CommandError::RemoteHost(_)
            | CommandError::GivenServer(_)
            | CommandError::NoServer(_)
            | CommandError::Serve(ServeError::Listen { .. } | ServeError::Refused(_))
            | CommandError::Backend(_)
            | CommandError::Episode { .. }
            | CommandError::Panicked(_)
            | CommandError::System { .. } => Exit::CouldNotRun,
        }
    }
}

fn serve_advice(error: &ServeError) -> &'static str {
    match error {
        ServeError::Listen { .. } => "; name another address with --listen",
        // They say what to do themselves, or name what is wrong.
        ServeError::Open(_) | ServeError::NoProxies(_) | ServeError::Refused(_) => "",
    }
}

fn server_advice(error: &BackendError) -> &'static str {
    match error {
        // It says what to do itself.
        BackendError::NotOurs { .. } => "",
        BackendError::Unreachable { .. } | BackendError::Damaged { .. } => {
            "; see to that, or leave --url out to work on a throw-away server"
        }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "; make room, or name another place with --out"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; name a place that can be written with --out"
        }
        _ => "; name another place with --out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_installed_is_a_line_that_says_what_to_do() {
        let searched = "/usr/bin".to_owned();
        let error = CommandError::from(ServerError::BinariesNotFound { searched });
        assert_eq!(error.exit(), Exit::CouldNotRun);
        let text = error.to_string();
        assert!(text.contains("apt-get install postgresql") && text.contains("--url"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}

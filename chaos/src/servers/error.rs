//! Why a throw-away server could not be started or stopped.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a throw-away server could not be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// There is no PostgreSQL server on this machine, or not where it was said to be.
    #[error(
        "no PostgreSQL server found: no folder holds initdb, postgres and pg_ctl; looked in \
         {searched}. Install it (on Debian and Ubuntu: apt-get install postgresql), or put its \
         folder on PATH"
    )]
    BinariesNotFound {
        /// Where they were looked for.
        searched: String,
    },
    /// A program of the server does not run.
    #[error("{} does not run: {said}; install PostgreSQL again", program.display())]
    ProgramBroken {
        /// The program.
        program: PathBuf,
        /// What it, or the system, said.
        said: String,
    },
    /// We are root, and there is nobody to run the server as.
    #[error(
        "PostgreSQL does not run as root, and /etc/passwd has neither a user postgres nor a user \
         nobody to run it as; run this as an ordinary user, or add one: useradd --system postgres"
    )]
    NoUnprivilegedUser,
    /// The path of the socket would be longer than the system takes.
    #[error(
        "a Unix socket in {} would have too long a path; choose a parent folder with a path of \
         at most {longest_parent} bytes, such as /tmp", folder.display()
    )]
    PathTooLong {
        /// The server's own folder, as it would have been.
        folder: PathBuf,
        /// How long the path of its parent may be.
        longest_parent: usize,
    },
    /// The shell that watches over the server could not be started.
    #[error("cannot run /bin/sh to watch over the server: {0}")]
    NoGuardian(io::Error),
    /// The shell that watches over the server is gone, killed by somebody else.
    #[error("the process that watches over the server was killed")]
    GuardianGone,
    /// The server's own folder could not be made.
    #[error(
        "cannot make the server's folder {} as the user that it runs as: {said}", folder.display()
    )]
    FolderNotMade {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        said: String,
    },
    /// `initdb` failed.
    #[error("initdb failed; its last lines:\n{said}")]
    InitialisationFailed {
        /// The last lines that it wrote.
        said: String,
    },
    /// The server ended, or went on without becoming ready.
    #[error("the server {how}; the last lines of its log:\n{log}")]
    NotReady {
        /// What it did instead.
        how: String,
        /// The last lines of its log.
        log: String,
    },
    /// It is running already, and so cannot be started.
    #[error("the server is running already, as process {0}")]
    Running(u32),
    /// It goes on after it was told to stop.
    #[error("the server did not stop within {0:?}")]
    NotStopped(Duration),
}

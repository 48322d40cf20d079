//! What SQLite's errors mean to a caller.
//!
//! Two questions are answered here: what kind of trouble an error is, and whether it
//! leaves a commit in doubt. The phase of an operation is kept elsewhere (`run.rs`); only
//! at a commit does the error itself decide anything.

use stagefault_models::{BackendError, Cause, Failure, Reason, Refusal};

/// Why an operation has no reply.
pub(super) enum Stop {
    /// The contract refuses it.
    Refused(Refusal),
    /// The infrastructure failed.
    Failed(Failure),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Refused(refusal)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failed(failure)
    }
}

/// The failure that this error of SQLite or of its worker is, while `doing` something.
pub(super) fn failure(doing: &str, error: &sqlx::Error) -> Failure {
    let (cause, meaning) = meaning(error);
    Failure { cause, reason: Reason(format!("{meaning}, {doing}: {error}")) }
}

/// Why the database at `location` cannot be worked with.
pub(super) fn backend_error(location: String, failure: Failure) -> BackendError {
    let Failure { cause, reason: Reason(reason) } = failure;
    match cause {
        Cause::Damaged => BackendError::Damaged { location, reason },
        _ => BackendError::Unreachable { location, reason },
    }
}

/// A row holds what no store writes.
pub(super) fn damaged(what: impl std::fmt::Display) -> Failure {
    Failure { cause: Cause::Damaged, reason: Reason(format!("a row cannot be understood: {what}")) }
}

/// The handle's connection was closed by its backend.
pub(super) fn closed() -> Failure {
    let reason = "the backend of this handle was reopened or removed";
    Failure { cause: Cause::Connection, reason: Reason(reason.to_owned()) }
}

/// The operation's deadline passed.
pub(super) fn late() -> Failure {
    let reason = "the operation's deadline passed before SQLite answered";
    Failure { cause: Cause::Deadline, reason: Reason(reason.to_owned()) }
}

/// Result codes of SQLite, extended ones cut to their last byte.
mod code {
    pub(super) const ERROR: i32 = 1;
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const IOERR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const CONSTRAINT: i32 = 19;
    pub(super) const NOTADB: i32 = 26;
}

/// SQLite's result code; `None` when the error is not SQLite's own.
fn code_of(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

fn meaning(error: &sqlx::Error) -> (Cause, &'static str) {
    match code_of(error) {
        Some(code::BUSY | code::LOCKED) => {
            (Cause::Contention, "another writer held the database for too long")
        }
        Some(code::FULL) => (Cause::OutOfSpace, "there is no room left for the database"),
        Some(code::CORRUPT | code::NOTADB) => (Cause::Damaged, "the database file is damaged"),
        Some(code::IOERR | code::CANTOPEN) => {
            (Cause::Connection, "the database file cannot be reached")
        }
        Some(code::READONLY) => (Cause::Store, "the database file cannot be written"),
        Some(_) => (Cause::Store, "SQLite failed"),
        None => match error {
            sqlx::Error::WorkerCrashed | sqlx::Error::Io(_) => {
                (Cause::Connection, "the connection's worker is gone")
            }
            _ => (Cause::Store, "the driver failed"),
        },
    }
}

/// Whether a commit, or a statement that commits by itself, certainly had no effect when
/// it fails so.
///
/// These errors come before the commit's frames are all in the log, or keep the last one
/// from being whole, and SQLite takes back what came before. After an I/O error a whole
/// commit may stand in the log, unseen until a recovery reads it: that is in doubt, as is
/// all that SQLite did not say itself.
pub(super) fn had_no_effect(error: &sqlx::Error) -> bool {
    use code::{BUSY, CONSTRAINT, ERROR, FULL, LOCKED, READONLY};
    matches!(code_of(error), Some(ERROR | BUSY | LOCKED | READONLY | FULL | CONSTRAINT))
}

//! What errors of the server and of the driver mean to a caller.
//!
//! Here it is said what kind of trouble an error is. Whether the operation may have applied
//! all the same is a matter of its phase (`run.rs`), and at a commit of how sending it
//! failed (`link.rs`).

use std::io::ErrorKind;

use stagefault_models::{BackendError, Cause, Failure, Reason, Refusal};

use super::link::sqlstate;

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

/// The failure that this error is, while `doing` something. It is one line.
pub(super) fn failure(doing: &str, error: &sqlx::Error) -> Failure {
    let (cause, meaning) = meaning(error);
    let text = format!("{meaning}, {doing}: {error}");
    Failure { cause, reason: Reason(text.replace('\n', " ")) }
}

/// Why the schema at `location` cannot be worked with.
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
    let reason = "the operation's deadline passed before the server answered";
    Failure { cause: Cause::Deadline, reason: Reason(reason.to_owned()) }
}

/// The handle's schema is no longer there.
pub(super) fn gone() -> Failure {
    Failure { cause: Cause::Store, reason: Reason("the schema was removed".to_owned()) }
}

/// There is a schema of the same name that is not ours.
pub(super) fn not_ours(reason: &str) -> Failure {
    let text = format!("another schema took the place of ours: {reason}");
    Failure { cause: Cause::Store, reason: Reason(text) }
}

/// A transaction of which a statement failed was to be committed all the same.
pub(super) fn aborted() -> Failure {
    let reason = "a statement of the transaction had failed, so it was not committed";
    Failure { cause: Cause::Store, reason: Reason(reason.to_owned()) }
}

fn meaning(error: &sqlx::Error) -> (Cause, &'static str) {
    match error {
        sqlx::Error::Io(error) => (Cause::Connection, connection_trouble(error.kind())),
        sqlx::Error::Protocol(_) => (Cause::Connection, "the server said what it must not say"),
        sqlx::Error::Tls(_) => (Cause::Connection, "this build cannot encrypt a connection"),
        _ => sqlstate(error).map_or((Cause::Store, "the driver failed"), server_trouble),
    }
}

fn connection_trouble(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => "no server answers there",
        _ => "the connection to the server broke",
    }
}

/// The server's own errors, by the codes of its appendix A.
fn server_trouble(code: &str) -> (Cause, &'static str) {
    match code {
        "28000" | "28P01" => (
            Cause::Connection,
            "the server wants another user or password (from the URL, PGPASSWORD or .pgpass)",
        ),
        "3D000" => (Cause::Connection, "the server has no such database"),
        "53300" => (Cause::Connection, "the server has no connection left"),
        "57P01" | "57P02" | "57P05" | "25P03" => {
            (Cause::Connection, "the server ended the connection")
        }
        "57P03" => (Cause::Connection, "the server starts or stops"),
        "57014" => (Cause::Deadline, "the statement took too long"),
        "55P03" => (Cause::Contention, "another writer held a lock for too long"),
        "40001" | "40P01" => (Cause::Contention, "the server gave way to another writer"),
        "53100" => (Cause::OutOfSpace, "there is no room left on the server"),
        "XX001" | "XX002" => (Cause::Damaged, "the server's data is damaged"),
        _ if code.starts_with("08") => (Cause::Connection, "the connection to the server broke"),
        _ => (Cause::Store, "the server failed"),
    }
}

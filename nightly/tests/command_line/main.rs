//! The `stagefault` command, as a person or a script meets it: the real binary, its exit
//! status, what it prints and the files that it leaves. A file for each matter.

mod bad_input;
mod chaos;
mod checking;
mod concurrent;
mod doctor;
mod flaws;
mod given_server;
mod holds;
mod lane_files;
mod own_server;
mod places;
mod printing;
mod proxy;
mod replaying;
mod reports;
mod resuming;
mod shrinking;
mod signals;
mod support;
// What a server leaves on the machine is looked for as its own tests do it.
#[path = "../../../chaos/tests/postgres_server/traces.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "not all of it is needed here; a test may panic")]
mod traces;
mod violations;

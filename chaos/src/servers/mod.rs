//! Throw-away servers: started in a folder of their own, and gone without a trace.
//!
//! A lane that works on PostgreSQL starts a [`PostgresServer`], and may kill it and start
//! it again as it likes, for nobody else uses it. However the lane ends, be it by return,
//! panic, Ctrl-C or SIGKILL, no process, folder or shared memory of the server stays.
//!
//! - `postgres` is the server as its owner sees it, and `options` what can be chosen.
//! - `guardian` is the small process beside it that sees to its end.
//! - `binaries` and `account` find the programs, and the user that they run as, and
//!   `installation` tells of them; `place` finds the folder and the port.
//! - `password` keeps the one secret, and `error` says what went wrong and what to do.

mod account;
mod binaries;
mod error;
mod guardian;
mod installation;
mod options;
mod password;
mod place;
mod postgres;

pub use error::ServerError;
pub use installation::Installation;
pub use options::{Durability, Listen, Options};
pub use postgres::PostgresServer;

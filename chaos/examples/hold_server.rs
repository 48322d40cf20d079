//! Holds a throw-away server until standard input ends.
//!
//! Prints the postmaster's process and the server's folder, on one line. Whatever ends this
//! process (try Ctrl-C, or `kill -9`), the server goes with it. The line `panic` makes it
//! panic. An argument names the folder to make the server's folder in.

use stagefault_chaos::servers::{Options, PostgresServer, ServerError};

fn main() -> Result<(), ServerError> {
    let parent = std::env::args_os().nth(1).map(Into::into);
    let server = PostgresServer::start(Options { parent, ..Options::default() })?;
    println!("{} {}", server.pid().unwrap_or_default(), server.socket_dir().display());
    for line in std::io::stdin().lines().map_while(Result::ok) {
        assert_ne!(line, "panic", "told to panic");
    }
    Ok(())
}

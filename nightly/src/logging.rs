//! What stagefault says of its work on standard error, when it is asked to.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::print;

/// Writes events to standard error from now on: as RUST_LOG says, else as `-v` does.
pub fn start(verbose: u8) {
    let by_flag = match verbose {
        0 => LevelFilter::ERROR,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let filter = match std::env::var("RUST_LOG").as_deref() {
        Err(_) | Ok("") => Targets::new().with_default(by_flag),
        Ok(text) => text.parse().unwrap_or_else(|error| {
            // It may well be meant for another program.
            print::note(format_args!("warning: RUST_LOG is ignored: {error}"));
            Targets::new().with_default(by_flag)
        }),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        // So that there is nothing for NO_COLOR to take away.
        .with_ansi(false);
    tracing_subscriber::registry().with(filter).with(lines).init();
}

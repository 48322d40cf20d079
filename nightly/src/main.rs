//! The `stagefault` command: runs random schedules against a store for as long as it is
//! given, replays what failed, and shrinks it.
//!
//! This file only reads the arguments, starts the command that they name, and turns how
//! it ended into an exit status. `cli.rs` has the arguments, `commands/` a file for each
//! command, and everything else is what commands share.

mod artifacts;
mod cli;
mod commands;
mod documents;
mod episodes;
mod error;
mod exit;
mod help;
mod logging;
mod panics;
mod print;
mod progress;
mod report;
mod schedules;
mod seeds;
mod shrinking;
mod signals;
mod stores;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use error::CommandError;
use exit::Exit;
use signals::Signals;

fn main() -> ExitCode {
    let cli = Cli::parse();
    logging::start(cli.verbose);
    let ended =
        panics::caught(|| dispatch(cli.command.unwrap_or_else(Command::when_none_is_named)));
    ended
        .unwrap_or_else(|error| {
            print::error(&error);
            error.exit()
        })
        .into()
}

fn dispatch(command: Command) -> Result<Exit, CommandError> {
    match command {
        Command::Run(arguments) => {
            within_a_runtime(async |signals| commands::run::run(&arguments, signals).await)
        }
        Command::Replay(arguments) => {
            within_a_runtime(async |signals| commands::replay::replay(&arguments, signals).await)
        }
        Command::Shrink(arguments) => {
            within_a_runtime(async |signals| commands::shrink::shrink(&arguments, signals).await)
        }
        Command::Flaws(arguments) => {
            within_a_runtime(async |signals| commands::flaws::flaws(&arguments, signals).await)
        }
        Command::Completions { shell } => commands::completions::completions(shell),
    }
}

/// Does the work on this thread, with signals in our hands.
fn within_a_runtime(
    work: impl AsyncFnOnce(&Signals) -> Result<Exit, CommandError>,
) -> Result<Exit, CommandError> {
    let refused = |doing| {
        move |error: std::io::Error| CommandError::System { doing, reason: error.to_string() }
    };
    let signals = Signals::install().map_err(refused("wait for signals"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(refused("start a runtime"))?;
    runtime.block_on(work(&signals))
}

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
mod lane;
mod logging;
mod panics;
mod postgres;
mod print;
mod progress;
mod report;
mod reports;
mod schedules;
mod secrets;
mod seeds;
mod shrinking;
mod signals;
mod stores;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, PostgresArguments};
use error::CommandError;
use exit::Exit;
use postgres::Postgres;
use signals::Signals;

/// The model and the memory store make and drop many small things: a tenth faster with it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
        Command::Run(arguments) => within_a_runtime(&arguments.postgres, async |context| {
            commands::run::run(&arguments, context).await
        }),
        Command::Replay(arguments) => within_a_runtime(&arguments.postgres, async |context| {
            commands::replay::replay(&arguments, context).await
        }),
        Command::Shrink(arguments) => within_a_runtime(&arguments.postgres, async |context| {
            commands::shrink::shrink(&arguments, context).await
        }),
        Command::Check(arguments) => {
            let signals = Signals::install().map_err(refused("wait for signals"))?;
            commands::check::check(&arguments, &signals)
        }
        Command::Flaws(arguments) => within_a_runtime(&arguments.postgres, async |context| {
            commands::flaws::flaws(&arguments, context).await
        }),
        Command::Doctor(arguments) => within_a_runtime(&arguments.postgres, async |context| {
            commands::doctor::doctor(&arguments, context).await
        }),
        Command::Proxy(arguments) => commands::proxy::proxy(&arguments),
        Command::Report(arguments) => commands::report::report(&arguments),
        Command::Matrix(arguments) => commands::matrix::matrix(&arguments),
        Command::Completions { shell } => commands::completions::completions(shell),
    }
}

/// What every command has that works on stores.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Whether it is to end.
    pub signals: &'a Signals,
    /// Where the postgres store finds its server.
    pub postgres: &'a Postgres,
}

/// Does the work on this thread, with signals in our hands, and then removes whatever
/// server or database it needed.
fn within_a_runtime(
    arguments: &PostgresArguments,
    work: impl AsyncFnOnce(Context<'_>) -> Result<Exit, CommandError>,
) -> Result<Exit, CommandError> {
    let postgres = Postgres::of(arguments)?;
    let signals = Signals::install().map_err(refused("wait for signals"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(refused("start a runtime"))?;
    runtime.block_on(async {
        let ended = work(Context { signals: &signals, postgres: &postgres }).await;
        postgres.close().await;
        ended
    })
}

/// The system refused something that a command cannot do without.
pub fn refused(doing: &'static str) -> impl FnOnce(std::io::Error) -> CommandError {
    move |error| CommandError::System { doing, reason: error.to_string() }
}

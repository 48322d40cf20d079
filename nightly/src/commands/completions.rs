//! `stagefault completions`: a script that completes the command line in a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::print;

/// Prints the script.
///
/// # Errors
/// That standard output cannot be written.
pub fn completions(shell: Shell) -> Result<Exit, CommandError> {
    let mut command = Cli::command();
    let mut script = Vec::new();
    // By way of memory, for the generator panics when a pipe breaks.
    clap_complete::generate(shell, &mut command, "stagefault", &mut script);
    print::result(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Held)
}

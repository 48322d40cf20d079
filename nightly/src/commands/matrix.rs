//! `stagefault matrix`: what chaos runs did to operations, and what came of it.

use stagefault_properties::concurrent::Fired;

use crate::cli::MatrixArguments;
use crate::documents::to_json;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::lane::folder::Results;
use crate::print;
use crate::reports::matrix::Matrix;

/// Adds up what the folders' runs did, and prints it. The exit status is that of the runs, and
/// of several the gravest.
///
/// # Errors
/// That a folder is of no chaos run, or is damaged.
pub fn matrix(arguments: &MatrixArguments) -> Result<Exit, CommandError> {
    let mut fired = Fired::default();
    let mut gravest = Exit::Held;
    for folder in &arguments.folders {
        let results = Results::read(folder)?;
        if results.run.chaos.is_none() {
            return Err(CommandError::NoChaos(folder.clone()));
        }
        let summary = results.summary();
        gravest = gravest.graver(summary.outcome.exit(&summary.ending));
        fired.add(&summary.real_faults);
    }
    let matrix = Matrix::of(&fired);
    if arguments.json {
        print::result(to_json(&matrix).trim_end())?;
    } else {
        print::result(&matrix)?;
    }
    Ok(gravest)
}

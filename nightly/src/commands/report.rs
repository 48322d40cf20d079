//! `stagefault report`: the reports of concurrent runs, made again from their folders.

use std::fs;
use std::path::Path;

use crate::artifacts::RunFolder;
use crate::cli::ReportArguments;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::lane::folder::{Results, merge};
use crate::{print, reports};

/// Rebuilds or joins what the arguments name. All folders are read first.
///
/// # Errors
/// That one of them is no run of the concurrent lane, or a report cannot be written.
pub fn report(arguments: &ReportArguments) -> Result<Exit, CommandError> {
    let ReportArguments { folders, merge: into, json } = arguments;
    let results: Result<Vec<Results>, _> = folders.iter().map(|it| Results::read(it)).collect();
    let results = results?;
    match into {
        Some(into) => join(results, into, *json),
        None => {
            let mut gravest = Exit::Held;
            for results in results {
                gravest = gravest.graver(reports::conclude(&results, *json)?);
            }
            Ok(gravest)
        }
    }
}

fn join(results: Vec<Results>, into: &Path, json: bool) -> Result<Exit, CommandError> {
    let mut merged = merge(results, into)?;
    let folder = RunFolder::claim(into)?;
    let options = merged.run.resolve().map(|it| it.choice.options()).unwrap_or_default();
    for (number, (from, failure)) in (1..).zip(&mut merged.failures) {
        let to = folder.path().join(format!("failures/{number}"));
        copy(from, &to)?;
        failure.number = number;
        let path = to.to_string_lossy();
        let words = ["stagefault", "replay", &path].into_iter();
        failure.replay = print::shell_line(words.chain(options.iter().map(String::as_str)));
        *from = to;
        let document = crate::documents::to_json(failure);
        folder.write(&format!("failures/{number}/violation.json"), &document)?;
    }
    reports::conclude(&merged, json)
}

fn copy(from: &Path, to: &Path) -> Result<(), CommandError> {
    let cannot = |error| CommandError::Write { path: to.to_owned(), error };
    fs::create_dir_all(to).map_err(cannot)?;
    for entry in fs::read_dir(from).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        fs::copy(entry.path(), to.join(entry.file_name())).map_err(cannot)?;
    }
    Ok(())
}

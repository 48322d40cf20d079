//! What a concurrent run leaves for its readers: a person at a terminal ([`text`]), one in a
//! browser ([`page`]), a CI system ([`junit`]), an issue tracker and a program.

mod charts;
mod junit;
pub mod matrix;
mod page;
mod text;
mod timeline;

use crate::artifacts;
use crate::documents::to_json;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::lane::folder::Results;
use crate::lane::outcome::Outcome;
use crate::print;

/// Writes every report into the folder, and prints how it went.
///
/// # Errors
/// That a report cannot be written or printed; never in place of a violation.
pub fn conclude(results: &Results, json: bool) -> Result<Exit, CommandError> {
    let summary = results.summary();
    let document = to_json(&summary);
    let text = text::of(results, &summary);
    let files = [
        ("summary.json", document.clone()),
        ("junit.xml", junit::of(&summary)),
        ("report.html", page::of(results, &summary)),
        ("issue.md", text::issue(results, &summary)),
    ];
    let write = |(name, text): &(&str, String)| artifacts::write(&results.folder.join(name), text);
    let written = files.iter().try_for_each(write);
    let printed = print::result(if json { document.trim_end() } else { &text });
    let exit = summary.outcome.exit(&summary.ending);
    match written.and(printed) {
        Err(error) if summary.outcome == Outcome::Violation => print::error(&error),
        said => said?,
    }
    Ok(exit)
}

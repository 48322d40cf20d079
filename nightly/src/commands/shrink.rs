//! `stagefault shrink`: from a failing schedule to a short one that fails in the same way.

use stagefault_properties::shrink::Failing;

use crate::cli::ShrinkArguments;
use crate::commands::replay::{Verdict, caveat, replay_one};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::shrinking;
use crate::stores::Stores;
use crate::{Context, artifacts, print, report, schedules};

/// Shrinks the schedule, and writes the result beside it.
///
/// # Errors
/// That the file is no schedule, the store could not be used, or the result not written.
pub async fn shrink(
    arguments: &ShrinkArguments,
    context: Context<'_>,
) -> Result<Exit, CommandError> {
    let Context { signals, postgres } = context;
    let found = schedules::read(&arguments.file, arguments.against)?;
    postgres.expect_use([found.choice.store])?;
    let out = arguments.out.clone().unwrap_or_else(|| schedules::shrunk_beside(&found.path));
    artifacts::may_replace(&out)?;
    let (path, store) = (found.path.display(), found.choice.store);
    let stores = Stores::temporary(found.choice, postgres).await?;
    let violation = match replay_one(&found, &stores, signals).await? {
        Verdict::Violation(violation) => violation,
        Verdict::Held(held) => {
            let caveat = caveat(held);
            let text = format!("held: {path} on {store}; there is nothing to shrink{caveat}");
            print::result(text)?;
            return Ok(Exit::Held);
        }
        Verdict::Interrupted(signal) => return Ok(Exit::Interrupted(signal)),
    };
    let operations = report::counted(found.schedule.operations.len() as u64, "operation");
    print::note(format_args!("shrinking {path} on {store}: {operations}"));
    let recorded = Failing { schedule: found.schedule, violation };
    let shrinking =
        shrinking::shrink(stores.namespaces(), recorded.clone(), arguments.attempts, signals).await;
    stores.remove();
    let seen_again = shrinking.was_seen_again();
    let written = if seen_again {
        artifacts::write(&out, &shrinking.best.schedule.to_json())
    } else {
        Ok(())
    };
    // What it came to is printed also when it cannot be written: it may have taken hours.
    let replayed = if seen_again && written.is_ok() { &out } else { &found.path };
    let replay = report::replay_command(replayed, found.choice, postgres);
    print::result(report::shrunk(&recorded, &shrinking, &replay, postgres))?;
    written.map(|()| Exit::Violation)
}

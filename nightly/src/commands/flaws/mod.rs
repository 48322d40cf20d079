//! `stagefault flaws`: the lanes against every planted flaw, and the matrix of what they catch.

mod canary;
mod matrix;

use stagefault_models::{BackendError, Namespaces};
use stagefault_properties::catalogue::{CATALOGUE, Entry};
use stagefault_properties::profile::Profile;
use stagefault_properties::script;
use stagefault_properties::sequential::replay;
use stagefault_properties::shrink::DEFAULT_ATTEMPTS;
use stagefault_properties::violation::EpisodeError;

use crate::cli::FlawsArguments;
use crate::episodes::{End, Episodes, Limit};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::print;
use crate::shrinking;
use crate::signals::{Signal, Signals};
use crate::stores::{Choice, StoreName, Stores};
use canary::CanaryNamespaces;
use matrix::{Hunt, Matrix, Row};

/// Hunts for the flaws in the stores, and prints what was caught.
///
/// # Errors
/// That this build has no flaws, or that a store cannot be used.
pub async fn flaws(arguments: &FlawsArguments, signals: &Signals) -> Result<Exit, CommandError> {
    let all = [StoreName::Memory, StoreName::Sqlite];
    let stores = if arguments.store.is_empty() { &all[..] } else { &arguments.store };
    let wanted = |entry: &&Entry| arguments.flaw.is_empty() || arguments.flaw.contains(&entry.flaw);

    let canary = canary_is_caught().await?;
    let mut matrix = Matrix { format: "stagefault.flaws/1", canary, flaws: Vec::new() };
    for entry in CATALOGUE.iter().filter(wanted) {
        for store in stores.iter().copied() {
            match hunts(entry, store, arguments, signals).await? {
                Ok(hunts) => matrix.flaws.push(Row::of(entry, store, hunts)),
                Err(signal) => return Ok(Exit::Interrupted(signal)),
            }
        }
    }
    if arguments.json {
        print::result(crate::documents::to_json(&matrix).trim_end())?;
    } else {
        print::result(&matrix)?;
    }
    Ok(if matrix.all_caught() { Exit::Held } else { Exit::Violation })
}

/// One hunt from each seed, unless a signal arrives.
async fn hunts(
    entry: &Entry,
    store: StoreName,
    arguments: &FlawsArguments,
    signals: &Signals,
) -> Result<Result<Vec<Hunt>, Signal>, CommandError> {
    let choice = Choice { store, flaw: Some(entry.flaw) };
    let mut hunts = Vec::new();
    for seed in 1..=arguments.seeds {
        match hunt(choice, seed, arguments.ops, signals).await? {
            Ok(hunt) => hunts.push(hunt),
            Err(signal) => return Ok(Err(signal)),
        }
    }
    Ok(Ok(hunts))
}

async fn hunt(
    choice: Choice,
    seed: u64,
    operations: u64,
    signals: &Signals,
) -> Result<Result<Hunt, Signal>, CommandError> {
    let stores = Stores::temporary(choice)?;
    let profile = Profile::standard();
    let mut episodes = Episodes::open(&stores, choice.store, profile, seed).await?;
    let end = episodes.run(Limit::Operations(operations), signals).await;
    let ran = episodes.close().await;
    let shrunk = match end {
        End::Limit => None,
        End::Signal(signal) => return Ok(Err(signal)),
        End::Violation { failing, .. } => {
            let namespaces = stores.namespaces();
            let shrunk = shrinking::shrink(namespaces, failing, DEFAULT_ATTEMPTS, signals).await;
            match shrunk.end {
                shrinking::End::Interrupted(signal) => return Ok(Err(signal)),
                _ => Some(shrunk.best.schedule.operations.len()),
            }
        }
        End::Trouble { error, episode } => {
            let place = format!("episode {episode} of seed {seed}");
            return Err(CommandError::Episode { place, error });
        }
    };
    stores.remove();
    Ok(Ok(Hunt { seed, operations: ran.tally.total(), elapsed: ran.elapsed, shrunk }))
}

/// Whether a store that always answers wrongly is caught at its first operation.
async fn canary_is_caught() -> Result<bool, BackendError> {
    let schedule = script::schedule([script::create("s")]);
    let outcome = replay(CanaryNamespaces.fresh().await?, &schedule).await;
    Ok(matches!(outcome, Err(EpisodeError::Violation(_))))
}

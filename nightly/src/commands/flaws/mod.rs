//! `stagefault flaws`: the lanes against every planted flaw, and the matrix of what they catch.

mod canary;
mod matrix;

use stagefault_models::{BackendError, Namespaces};
use stagefault_properties::catalogue::{self, Entry, Lane};
use stagefault_properties::profile::Profile;
use stagefault_properties::script;
use stagefault_properties::sequential::replay;
use stagefault_properties::shrink::DEFAULT_ATTEMPTS;
use stagefault_properties::violation::EpisodeError;

use crate::cli::FlawsArguments;
use crate::episodes::{End, Episodes, Limit};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::signals::Signal;
use crate::stores::{Choice, StoreName, Stores};
use crate::{Context, print, shrinking};
use canary::CanaryNamespaces;
use matrix::{Hunt, Matrix, Row};

/// Hunts for the flaws in the stores, and prints what was caught.
///
/// # Errors
/// That this build has no flaws, or that a store cannot be used.
pub async fn flaws(arguments: &FlawsArguments, context: Context<'_>) -> Result<Exit, CommandError> {
    let plantings = plantings(arguments);
    context.postgres.expect_use(plantings.iter().map(|(_, store)| *store))?;
    // All of them are planted in the same build.
    if let Some((entry, store)) = plantings.first() {
        Choice { store: *store, flaw: Some(entry.flaw) }.flaws()?;
    } else {
        return Err(CommandError::NothingToHunt);
    }
    let canary = canary_is_caught().await?;
    let mut matrix = Matrix { format: "stagefault.flaws/1", canary, flaws: Vec::new() };
    for (entry, store) in plantings {
        match hunts(entry, store, arguments, context).await? {
            Ok(hunts) => matrix.flaws.push(Row::of(entry, store, hunts)),
            Err(signal) => return Ok(Exit::Interrupted(signal)),
        }
    }
    if arguments.json {
        print::result(crate::documents::to_json(&matrix).trim_end())?;
    } else {
        print::result(&matrix)?;
    }
    Ok(if matrix.all_caught() { Exit::Held } else { Exit::Violation })
}

/// The flaws that are asked for, in each of the stores that are and that can have them.
fn plantings(arguments: &FlawsArguments) -> Vec<(&'static Entry, StoreName)> {
    let FlawsArguments { flaw: flaws, store: stores, .. } = arguments;
    let entries = catalogue::all().filter(|entry| flaws.is_empty() || flaws.contains(&entry.flaw));
    let in_each_store = |entry: &'static Entry| {
        let able = entry.stores.iter().copied().filter_map(StoreName::from_name);
        able.filter(|store| stores.is_empty() || stores.contains(store))
            .map(move |store| (entry, store))
    };
    entries.flat_map(in_each_store).collect()
}

/// One hunt from each seed, unless a signal arrives. None where the flaw needs a lane that
/// is not there yet.
async fn hunts(
    entry: &Entry,
    store: StoreName,
    arguments: &FlawsArguments,
    context: Context<'_>,
) -> Result<Result<Vec<Hunt>, Signal>, CommandError> {
    let choice = Choice { store, flaw: Some(entry.flaw) };
    let mut hunts = Vec::new();
    if entry.lane != Lane::Sequential {
        return Ok(Ok(hunts));
    }
    for seed in 1..=arguments.seeds {
        match hunt(choice, seed, arguments.ops, context).await? {
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
    context: Context<'_>,
) -> Result<Result<Hunt, Signal>, CommandError> {
    let Context { signals, postgres } = context;
    let stores = Stores::temporary(choice, postgres).await?;
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

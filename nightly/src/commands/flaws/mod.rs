//! `stagefault flaws`: the lanes against every planted flaw, and the matrix of what they catch.

mod canary;
mod hunt;
mod matrix;

use stagefault_models::{BackendError, Namespaces};
use stagefault_properties::catalogue::{self, Entry, Lane};
use stagefault_properties::script;
use stagefault_properties::sequential::replay;
use stagefault_properties::violation::EpisodeError;

use crate::cli::FlawsArguments;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::signals::Signal;
use crate::stores::{Choice, StoreName};
use crate::{Context, print};
use canary::CanaryNamespaces;
use hunt::hunt;
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
        Choice { store: *store, flaw: Some(entry.flaw), chaos: false }.flaws()?;
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
    let FlawsArguments { flaw: flaws, store: stores, lane: lanes, .. } = arguments;
    let entries = catalogue::all()
        .filter(|entry| match lanes[..] {
            [] => entry.lane != Lane::Chaos || !flaws.is_empty(),
            _ => lanes.contains(&entry.lane),
        })
        .filter(|entry| flaws.is_empty() || flaws.contains(&entry.flaw));
    let in_each_store = |entry: &'static Entry| {
        let able = entry.stores.iter().copied().filter_map(StoreName::from_name);
        // Only its connections and server can be broken.
        able.filter(|store| entry.lane != Lane::Chaos || *store == StoreName::Postgres)
            .filter(|store| stores.is_empty() || stores.contains(store))
            .map(move |store| (entry, store))
    };
    entries.flat_map(in_each_store).collect()
}

/// One hunt from each seed, unless a signal arrives.
async fn hunts(
    entry: &Entry,
    store: StoreName,
    arguments: &FlawsArguments,
    context: Context<'_>,
) -> Result<Result<Vec<Hunt>, Signal>, CommandError> {
    let mut hunts = Vec::new();
    for seed in 1..=arguments.seeds {
        match hunt(entry, store, seed, arguments, context).await? {
            Ok(hunt) => hunts.push(hunt),
            Err(signal) => return Ok(Err(signal)),
        }
    }
    Ok(Ok(hunts))
}

/// Whether a store that always answers wrongly is caught at its first operation.
async fn canary_is_caught() -> Result<bool, BackendError> {
    let schedule = script::schedule([script::create("s")]);
    let outcome = replay(CanaryNamespaces.fresh().await?, &schedule).await;
    Ok(matches!(outcome, Err(EpisodeError::Violation(_))))
}

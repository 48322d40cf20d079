//! The concurrent lane of `stagefault run`: a new run, or one that is gone on with.

use std::path::Path;
use std::time::SystemTime;

use stagefault_properties::profile::Profile;

use super::{USUALLY, seed};
use crate::artifacts::RunFolder;
use crate::cli::{ConcurrentArguments, RunArguments};
use crate::documents::{RunFormat, to_json};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::lane::documents::{Bound, Chaos, LaneName, LaneRun, Resolved};
use crate::lane::episodes::Episodes;
use crate::lane::failures::Failures;
use crate::lane::folder::{Results, read_run};
use crate::lane::journal::{Journal, Total};
use crate::lane::outcome::Ending;
use crate::lane::shard::Shard;
use crate::lane::signature::read_known;
use crate::stores::{StoreName, Stores};
use crate::{Context, print, reports, secrets};

impl ConcurrentArguments {
    /// Makes sure that nothing is asked for that only the concurrent lane has.
    pub fn expect_none(&self) -> Result<(), CommandError> {
        let ConcurrentArguments { shard, max_failures, known, resume: _ } = self;
        let asked = [
            ("--shard", shard.is_some()),
            ("--max-failures", max_failures.is_some()),
            ("--known", known.is_some()),
        ];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((option, _)) => Err(CommandError::NeedsWriters(option)),
            None => Ok(()),
        }
    }
}

/// Runs episodes until the limit, too many failures or a signal.
///
/// # Errors
/// That the run could not begin, or could not say how it ended.
pub async fn run(arguments: &RunArguments, context: Context<'_>) -> Result<Exit, CommandError> {
    match &arguments.concurrent.resume {
        Some(folder) => go_on(folder, arguments, context).await,
        None => begin(arguments, context).await,
    }
}

async fn begin(arguments: &RunArguments, context: Context<'_>) -> Result<Exit, CommandError> {
    context.postgres.expect_use([arguments.store])?;
    arguments.choice().flaws()?;
    expect_chaos_to_mean_something(arguments)?;
    let started = SystemTime::now();
    let mut run = lane_run(arguments, started)?;
    let resolved = Resolved { profile: arguments.profile(), choice: arguments.choice() };
    let mut folder = RunFolder::make(arguments.out.as_deref(), started, run.seed)?;
    let stores = Stores::within(folder.path(), resolved.choice, context.postgres).await?;
    run.chaos = stores.available().map(Chaos::from);
    folder.begin(&to_json(&run))?;
    let journal = (Journal::begin(folder.path())?, Total::default());
    let (at, shard) = (folder.path().display(), shard_text(run.shard));
    let (subject, limit) = (run.subject(), run.limit);
    print::note(format_args!("running {subject}{shard}, {limit}; artifacts in {at}"));
    run.chaos.iter().flat_map(|chaos| chaos.lacks()).for_each(print::note);
    Work { run, resolved, folder, stores, journal }.finish(arguments.json, context).await
}

/// Chaos takes a store with connections and a server, and a profile that has faults.
fn expect_chaos_to_mean_something(arguments: &RunArguments) -> Result<(), CommandError> {
    if !arguments.chaos {
        return Ok(());
    }
    if arguments.store != StoreName::Postgres {
        return Err(CommandError::NothingToBreak(arguments.store.as_str()));
    }
    match arguments.profile() {
        Profile { real: 0, name, .. } => Err(CommandError::ProfileWithoutFaults(name)),
        _ => Ok(()),
    }
}

/// What a new run is to be.
fn lane_run(arguments: &RunArguments, started: SystemTime) -> Result<LaneRun, CommandError> {
    let ConcurrentArguments { shard, max_failures, known, .. } = &arguments.concurrent;
    let time = arguments.duration.unwrap_or(USUALLY).as_millis();
    let limit = match arguments.ops {
        Some(operations) => Bound::Operations(operations),
        None => Bound::Milliseconds(u64::try_from(time).unwrap_or(u64::MAX)),
    };
    Ok(LaneRun {
        format: RunFormat::Version1,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: secrets::command_line(),
        lane: LaneName::Concurrent,
        store: arguments.store,
        flaw: arguments.flaw.map(|flaw| flaw.name().to_owned()),
        profile: arguments.profile().name.to_owned(),
        seed: seed(arguments)?,
        started: humantime::format_rfc3339_seconds(started).to_string(),
        writers: arguments.writers(),
        chaos: None,
        shard: shard.unwrap_or(Shard::WHOLE),
        limit,
        max_failures: max_failures.unwrap_or(1),
        known: known.as_deref().map(read_known).transpose()?.unwrap_or_default(),
    })
}

/// Goes on where the journal ends.
async fn go_on(
    path: &Path,
    arguments: &RunArguments,
    context: Context<'_>,
) -> Result<Exit, CommandError> {
    let run = read_run(path)?;
    let bad = |reason| CommandError::BadFile { path: path.join("run.json"), reason };
    let resolved = run.resolve().map_err(bad)?;
    resolved.choice.flaws()?;
    context.postgres.expect_use([run.store])?;
    let mut total = Total::default();
    let journal = Journal::go_on(path, |line| total.add(&line))?;
    // Nobody else has the journal, and so nobody else is at the store's files.
    let folder = RunFolder::of_earlier(path)?;
    let stores = Stores::within(path, resolved.choice, context.postgres).await?;
    print::note(format_args!(
        "going on with {} after {} episodes: {}{}, {}",
        path.display(),
        total.episodes,
        run.subject(),
        shard_text(run.shard),
        run.limit,
    ));
    let journal = (journal, total);
    Work { run, resolved, folder, stores, journal }.finish(arguments.json, context).await
}

fn shard_text(shard: Shard) -> String {
    if shard == Shard::WHOLE { String::new() } else { format!(", shard {shard}") }
}

/// A run whose folder is begun.
struct Work {
    run: LaneRun,
    resolved: Resolved,
    folder: RunFolder,
    stores: Stores,
    journal: (Journal, Total),
}

impl Work {
    async fn finish(self, json: bool, context: Context<'_>) -> Result<Exit, CommandError> {
        let Work { run, resolved, folder, stores, journal } = self;
        let ended = episodes(&run, &resolved, &folder, &stores, journal, context).await;
        // Before anything else is written, for the store may be what fills the disk.
        stores.remove();
        let ending = ended?;
        if let Some(error) = &ending.error {
            print::note(format_args!("error: {error}"));
        }
        let mut results = Results::read(folder.path())?;
        results.ending = Some(ending);
        reports::conclude(&results, json)
    }
}

async fn episodes(
    run: &LaneRun,
    resolved: &Resolved,
    folder: &RunFolder,
    stores: &Stores,
    journal: (Journal, Total),
    context: Context<'_>,
) -> Result<Ending, CommandError> {
    let namespaces = stores.namespaces();
    let failures = Failures::open(folder, resolved.choice, namespaces, context)?;
    Episodes::new(run, resolved, namespaces, journal, failures, context).run().await
}

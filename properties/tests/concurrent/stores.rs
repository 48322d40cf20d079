//! What the trials have in common: the stores by name, and hunting for a violation.

use std::ops::Range;
use std::time::Duration;

use libtest_mimic::{Completion, Failed, Trial};
use stagefault_models::{Backend, BackendError, BoxedNamespaces, Namespaces};
use stagefault_properties::concurrent::{Episode, Judgement, Lane, Plan, judge, within};
use stagefault_properties::profile::Profile;
use stagefault_properties::suite;
use stagefault_properties::suite::PropertyError;
use stagefault_properties::violation::Violation;
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::MemoryNamespaces;
use stagefault_stores::sqlite::SqliteNamespaces;

use crate::postgres::Postgres;

/// Every store of the lane.
pub const STORES: [&str; 3] = ["memory", "sqlite", "postgres"];

/// Fresh namespaces of a store.
pub fn open(store: &str, flaws: Flaws) -> Result<BoxedNamespaces, BackendError> {
    Ok(match store {
        "memory" => BoxedNamespaces::new(MemoryNamespaces { flaws }),
        "sqlite" => BoxedNamespaces::new(SqliteNamespaces::temporary(flaws)?),
        _ => BoxedNamespaces::new(Postgres { flaws }),
    })
}

/// A trial on a store, which is ignored where the store cannot be started.
pub fn trial(
    name: String,
    store: &'static str,
    check: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || {
        let sound = open(store, Flaws::none())?;
        let started = block_on(async { sound.fresh().await?.remove().await })?;
        match started.map_err(PropertyError::Unavailable) {
            Ok(()) => check().map(|()| Completion::Completed),
            unavailable => suite::outcome(unavailable),
        }
    })
}

pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(future))
}

/// The plan of a lane on a store: on memory turns decide, on the others the store.
pub fn plan(store: &str, profile: &str) -> Result<Plan, Failed> {
    let profile = Profile::from_name(profile).ok_or("no such profile")?;
    let by_turns = store == "memory";
    Ok(Plan { profile, writers: profile.writers, by_turns, swarm: true })
}

/// Runs the episodes of these numbers until one is a violation.
///
/// # Errors
/// An episode that could not be run or decided.
pub async fn hunt<N: Namespaces>(
    namespaces: &N,
    plan: Plan,
    episodes: Range<u64>,
) -> Result<Option<(u64, Episode, Violation)>, Failed> {
    let mut lane = Lane::new(namespaces, plan);
    for number in episodes {
        let episode = lane.run(number, number).await?;
        match judge(&episode, within(Duration::from_secs(60), 1 << 30)) {
            Judgement::Holds { .. } => {}
            Judgement::Violation(violation) => {
                lane.renew().await?;
                return Ok(Some((number, episode, *violation)));
            }
            Judgement::Undecided(why) => return Err(format!("undecided: {why}").into()),
        }
    }
    lane.renew().await?;
    Ok(None)
}

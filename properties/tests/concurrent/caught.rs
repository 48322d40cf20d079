//! Each planted flaw that needs several writers is shown by its shortest schedule, is caught
//! within so many episodes, and is shrunk to a schedule that holds without it.
//!
//! Turns decide on every store, so that nothing here depends on time. The races of sqlite
//! have the shape of those of postgres, and are hunted where STAGEFAULT_RACES says `all`.

use libtest_mimic::{Failed, Trial};
use stagefault_models::Namespaces;
use stagefault_properties::catalogue::{self, Entry, Lane};
use stagefault_properties::concurrent::{Plan, Replayer};
use stagefault_properties::shrink::{ShrinkError, Shrunk, shrink};
use stagefault_properties::violation::Violation;
use stagefault_stores::flaws::{Flaw, Flaws};

use crate::stores::{block_on, hunt, open, plan, trial};

/// The most episodes that a hunt takes.
const EPISODES: u64 = 1_000;

/// The most candidates that a shrink replays.
const ATTEMPTS: u32 = 1_000;

/// Every flaw on every store that has a place for it.
pub fn trials() -> Vec<Trial> {
    let all = std::env::var("STAGEFAULT_RACES").is_ok_and(|which| which == "all");
    let on_each_store = |entry: &'static Entry| {
        let stores = entry.stores.iter().filter(move |store| all || **store != "sqlite");
        stores.map(move |store| {
            let name = format!("{store}::catches_{}", entry.flaw);
            trial(name, store, move || caught(store, entry))
        })
    };
    catalogue::all()
        .filter(|entry| entry.lane == Lane::Concurrent)
        .flat_map(on_each_store)
        .collect()
}

fn caught(store: &'static str, entry: &Entry) -> Result<(), Failed> {
    let flaw = entry.flaw;
    let flaws = Flaws::planted(flaw).ok_or("this test needs the cargo feature `flaws`")?;
    let (flawed, sound) = (open(store, flaws)?, open(store, Flaws::none())?);
    block_on(async {
        let shortest = (entry.shortest)();
        let shown = Replayer::new(&flawed).violation(&shortest, 1, 3).await?;
        assert!(shown.is_some(), "the shortest schedule does not show {flaw}");
        assert_eq!(Replayer::new(&sound).violation(&shortest, 1, 1).await?, None);
        let plan = Plan { by_turns: true, ..plan(store, entry.profile().name)? };
        let (number, violation, shrunk) = found(&flawed, plan, flaw).await?;
        let schedule = &shrunk.failing.schedule;
        eprintln!(
            "{store} {flaw}: episode {number}, {}, {} operations after {} attempts",
            violation.signature(),
            schedule.operations.len(),
            shrunk.attempts,
        );
        let longest = shortest.operations.len() + entry.lane.slack();
        assert!(schedule.operations.len() <= longest, "not shrunk:\n{}", schedule.to_json());
        let held = Replayer::new(&sound).violation(schedule, 1, 1).await?;
        assert_eq!(held, None, "it must hold without the flaw:\n{}", schedule.to_json());
        Ok(())
    })?
}

/// The first episode that is a violation which replays show again, and what it shrinks to.
///
/// Where a store waits, turns decide nearly everything and not all; what is seen only once
/// is a finding for a reader, and none to shrink.
async fn found<N: Namespaces>(
    flawed: &N,
    plan: Plan,
    flaw: Flaw,
) -> Result<(u64, Violation, Shrunk), Failed> {
    let mut next = 0;
    while let Some((number, episode, violation)) = hunt(flawed, plan, next..EPISODES).await? {
        match shrink(flawed, &episode.schedule, ATTEMPTS, |_| {}).await {
            Ok(shrunk) => return Ok((number, violation, shrunk)),
            Err(ShrinkError::Passes | ShrinkError::NotReproduced { .. }) => next = number + 1,
            Err(ShrinkError::Episode(error)) => return Err(error.into()),
        }
    }
    Err(format!("{flaw} was not caught in {EPISODES} episodes").into())
}

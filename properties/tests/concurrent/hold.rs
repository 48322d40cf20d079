//! Without a flaw, every store holds, faults and all.

use libtest_mimic::{Failed, Trial};
use stagefault_stores::flaws::Flaws;

use crate::stores::{STORES, block_on, hunt, open, plan, trial};

/// Every store under every profile for many writers.
pub fn trials() -> Vec<Trial> {
    let on = |store: &'static str| {
        ["contended", "crowded", "swept"].map(|profile| {
            let name = format!("{store}::holds_when_{profile}");
            trial(name, store, move || holds(store, profile))
        })
    };
    STORES.into_iter().flat_map(on).collect()
}

fn holds(store: &'static str, profile: &str) -> Result<(), Failed> {
    let namespaces = open(store, Flaws::none())?;
    let episodes = if store == "memory" { 300 } else { 25 };
    match block_on(hunt(&namespaces, plan(store, profile)?, 0..episodes))?? {
        None => Ok(()),
        Some((number, episode, violation)) => {
            let (schedule, history) = (episode.schedule.to_json(), episode.history.to_json_lines());
            Err(format!("episode {number}: {violation}\n{schedule}\n{history}").into())
        }
    }
}

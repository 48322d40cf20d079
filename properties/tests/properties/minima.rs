//! Schedules at which a shrinker ends that only drops operations: each of them is of some
//! use there, and most of them are not needed.

use libtest_mimic::{Failed, Trial};
use stagefault_models::Schedule;
use stagefault_properties::catalogue;
use stagefault_properties::shrink::{DEFAULT_ATTEMPTS, shrink};
use stagefault_stores::flaws::{Flaw, Flaws};
use stagefault_stores::memory::MemoryNamespaces;

const MINIMA: [(Flaw, &str); 3] = [
    // A change that cannot be merged, but for an earlier one, and a message that conflicts
    // with an earlier one.
    (
        Flaw::ChangesBeforeMessageConflict,
        include_str!("minima/changes-before-message-conflict-5.json"),
    ),
    (
        Flaw::ChangesBeforeMessageConflict,
        include_str!("minima/changes-before-message-conflict-6.json"),
    ),
    // Two pairs of changes that cannot be merged.
    (Flaw::StagingInOrderOfNames, include_str!("minima/staging-in-order-of-names-6.json")),
];

/// Each is shrunk further.
pub fn trials() -> Vec<Trial> {
    let trial = |(flaw, schedule): (Flaw, &'static str)| {
        let operations = schedule.matches("\"operation\":").count();
        let name = format!("memory::shrinks_{flaw}_below_{operations}");
        Trial::test(name, move || is_shrunk(flaw, schedule))
    };
    MINIMA.into_iter().map(trial).collect()
}

fn is_shrunk(flaw: Flaw, schedule: &str) -> Result<(), Failed> {
    let schedule = Schedule::from_json(schedule)?;
    let flaws = Flaws::planted(flaw).ok_or("this test needs the cargo feature `flaws`")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let flawed = MemoryNamespaces { flaws };
    let shrinking = shrink(&flawed, &schedule, DEFAULT_ATTEMPTS, |_| {});
    let shrunk = runtime.block_on(shrinking)?.failing.schedule;
    assert!(shrunk.operations.len() < schedule.operations.len(), "not shrunk at all");
    let entry = catalogue::of(flaw);
    let longest = (entry.shortest)().operations.len() + entry.lane.slack();
    assert!(shrunk.operations.len() <= longest, "not shrunk:\n{}", shrunk.to_json());
    Ok(())
}

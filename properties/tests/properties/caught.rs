//! Each planted flaw is caught by the property that names its invariant, is shrunk nearly
//! to the shortest schedule that shows it, and that one is as short as it says.

use std::path::PathBuf;

use libtest_mimic::{Completion, Failed, Trial};
use stagefault_models::{BackendError, Invariant, Namespaces, Schedule};
use stagefault_properties::catalogue::{CATALOGUE, Entry};
use stagefault_properties::sequential::replay;
use stagefault_properties::suite::{self, PROPERTIES, Property, PropertyError, Suite};
use stagefault_properties::violation::{EpisodeError, Violation};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::MemoryNamespaces;
use stagefault_stores::sqlite::SqliteNamespaces;

use crate::postgres::Postgres;

/// How much longer than the shortest possible a shrunk schedule may be.
const SLACK: usize = 2;

/// Every flaw on every store.
pub fn trials() -> Vec<Trial> {
    let on_each_store = |entry| {
        [
            trial("memory", entry, |flaws| Ok(MemoryNamespaces { flaws })),
            trial("sqlite", entry, SqliteNamespaces::temporary),
            trial("postgres", entry, |flaws| Ok(Postgres { flaws })),
        ]
    };
    CATALOGUE.iter().flat_map(on_each_store).collect()
}

fn trial<N: Namespaces>(
    store: &'static str,
    entry: &'static Entry,
    open: impl Fn(Flaws) -> Result<N, BackendError> + Send + 'static,
) -> Trial {
    let name = format!("{store}::{}::catches_{}", entry.invariant, entry.flaw);
    Trial::ignorable_test(name, move || {
        let kept = PathBuf::new();
        let sound = Suite { store, namespaces: open(Flaws::none())?, kept };
        match sound.available() {
            Ok(()) => caught(store, entry, open).map(|()| Completion::Completed),
            unavailable => suite::outcome(unavailable),
        }
    })
}

fn caught<N: Namespaces>(
    store: &'static str,
    entry: &Entry,
    open: impl Fn(Flaws) -> Result<N, BackendError>,
) -> Result<(), Failed> {
    let flaws = Flaws::planted(entry.flaw).ok_or("this test needs the cargo feature `flaws`")?;
    let (flawed, sound) = (open(flaws)?, open(Flaws::none())?);
    let shortest = (entry.shortest)();
    shows(&flawed, entry, &shortest)?;
    is_shortest(&flawed, entry, &shortest)?;

    let folder = tempfile::tempdir()?;
    let suite = Suite { store, namespaces: flawed, kept: folder.path().to_owned() };
    let property = property_of(entry)?;
    let Err(PropertyError::Found { path, shrunk, .. }) = suite.check(&property) else {
        return Err(format!("{} was not caught by random schedules", entry.flaw).into());
    };
    let violation = shrunk.failing.violation;
    assert!(is_named(entry, &violation), "{violation}");
    let kept = Schedule::from_json(&std::fs::read_to_string(&path)?)?;
    let longest = shortest.operations.len() + SLACK;
    assert!(kept.operations.len() <= longest, "not shrunk:\n{}", kept.to_json());
    shows(&suite.namespaces, entry, &kept)?;
    assert_eq!(violation_of(&sound, &kept)?, None, "it must pass without the flaw");

    let Err(PropertyError::Known { name, .. }) = suite.check(&property) else {
        return Err("the kept schedule was not replayed first".into());
    };
    assert_eq!(name, path.display().to_string());
    Ok(())
}

/// The property that names the flaw's invariant, with random schedules only: some of those
/// written by hand would catch it at once.
fn property_of(entry: &Entry) -> Result<Property, Failed> {
    let named = PROPERTIES.into_iter().find(|property| property.invariant == entry.invariant);
    let property = named.ok_or("no property names this invariant")?;
    Ok(Property { directed: Vec::new, ..property })
}

/// Where the flaw leads to another refusal than the model's, nothing is broken but truth.
fn is_named(entry: &Entry, violation: &Violation) -> bool {
    [entry.invariant, Invariant::Truth].contains(&violation.invariant)
}

fn shows<N: Namespaces>(store: &N, entry: &Entry, schedule: &Schedule) -> Result<(), Failed> {
    match violation_of(store, schedule)? {
        Some(violation) if is_named(entry, &violation) => Ok(()),
        other => Err(format!("{other:?} by\n{}", schedule.to_json()).into()),
    }
}

/// Without any one of its operations, the schedule does not show the flaw.
fn is_shortest<N: Namespaces>(store: &N, entry: &Entry, schedule: &Schedule) -> Result<(), Failed> {
    for dropped in 0..schedule.operations.len() {
        let mut shorter = schedule.clone();
        shorter.retain(|index| index != dropped);
        if let Some(violation) = violation_of(store, &shorter)? {
            return Err(format!("{} shows it without {dropped}: {violation}", entry.flaw).into());
        }
    }
    Ok(())
}

fn violation_of<N: Namespaces>(
    namespaces: &N,
    schedule: &Schedule,
) -> Result<Option<Violation>, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let backend = namespaces.fresh().await?;
        match replay(backend, schedule).await {
            Ok(()) => Ok(None),
            Err(EpisodeError::Violation(violation)) => Ok(Some(*violation)),
            Err(trouble) => Err(trouble.into()),
        }
    })
}

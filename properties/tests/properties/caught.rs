//! Each planted flaw is caught by the property that names its invariant, is shrunk nearly
//! to the shortest schedule that shows it, and that one is as short as it says. One that
//! needs another lane is not shown by its schedule here.

use std::path::PathBuf;

use libtest_mimic::{Completion, Failed, Trial};
use stagefault_models::{BackendError, Invariant, Namespaces, Schedule};
use stagefault_properties::catalogue::{self, Entry, Lane};
use stagefault_properties::sequential::replay;
use stagefault_properties::suite::{self, PROPERTIES, Property, PropertyError, Suite};
use stagefault_properties::violation::{EpisodeError, Violation};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::MemoryNamespaces;
use stagefault_stores::sqlite::SqliteNamespaces;

use crate::postgres::Postgres;

/// Every flaw on every store.
pub fn trials() -> Vec<Trial> {
    let on_each_store = |entry: &'static Entry| {
        entry.stores.iter().map(move |store| match *store {
            "memory" => trial("memory", entry, |flaws| Ok(MemoryNamespaces { flaws })),
            "sqlite" => trial("sqlite", entry, SqliteNamespaces::temporary),
            "postgres" => trial("postgres", entry, |flaws| Ok(Postgres { flaws })),
            other => panic!("{} is planted in {other}, which is not tested", entry.flaw),
        })
    };
    catalogue::all().flat_map(on_each_store).collect()
}

fn trial<N: Namespaces>(
    store: &'static str,
    entry: &'static Entry,
    open: impl Fn(Flaws) -> Result<N, BackendError> + Send + 'static,
) -> Trial {
    let verb = match entry.lane {
        Lane::Sequential => "catches",
        Lane::Concurrent | Lane::Chaos => "does_not_show",
    };
    let name = format!("{store}::{}::{verb}_{}", entry.invariant, entry.flaw);
    Trial::ignorable_test(name, move || {
        let kept = PathBuf::new();
        let sound = Suite { store, namespaces: open(Flaws::none())?, kept };
        match sound.available() {
            Ok(()) => match entry.lane {
                Lane::Sequential => caught(store, entry, &open)?,
                Lane::Concurrent | Lane::Chaos => not_shown(entry, &open)?,
            },
            unavailable => return suite::outcome(unavailable),
        }
        Ok(Completion::Completed)
    })
}

/// Opens a store with or without flaws.
type Open<'a, N> = &'a dyn Fn(Flaws) -> Result<N, BackendError>;

fn flawed<N>(entry: &Entry, open: Open<'_, N>) -> Result<N, Failed> {
    let flaws = Flaws::planted(entry.flaw).ok_or("this test needs the cargo feature `flaws`")?;
    Ok(open(flaws)?)
}

/// One operation after another and without a fault, the schedule of a flaw that needs another
/// lane holds.
fn not_shown<N: Namespaces>(entry: &Entry, open: Open<'_, N>) -> Result<(), Failed> {
    let mut one_after_another = (entry.shortest)();
    one_after_another.interleaving = None;
    for entry in &mut one_after_another.operations {
        entry.fault = None;
    }
    let violation = violation_of(&flawed(entry, open)?, &one_after_another)?;
    assert_eq!(violation, None, "a sequential lane can show it");
    Ok(())
}

fn caught<N: Namespaces>(
    store: &'static str,
    entry: &Entry,
    open: Open<'_, N>,
) -> Result<(), Failed> {
    let (flawed, sound) = (flawed(entry, open)?, open(Flaws::none())?);
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
    let longest = shortest.operations.len() + entry.lane.slack();
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

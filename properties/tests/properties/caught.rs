//! Holding a property to a store with a planted flaw: it must fail, by its own name.

use libtest_mimic::{Failed, Trial};
use stagefault_models::{Namespaces, Schedule};
use stagefault_properties::sequential::replay;
use stagefault_properties::suite::{Property, PropertyError, Suite};
use stagefault_properties::violation::{EpisodeError, Violation};
use stagefault_stores::flaws::{Flaw, Flaws};
use stagefault_stores::memory::MemoryNamespaces;
use stagefault_stores::sqlite::SqliteNamespaces;

/// How much longer than the shortest possible a shrunk schedule may be.
const SLACK: usize = 2;

/// On each store, the property catches the flaw; `shortest` operations would show it.
pub fn trials(property: Property, flaw: Flaw, shortest: usize) -> Vec<Trial> {
    let name = |store| format!("{store}::{}::catches_{flaw}", property.invariant);
    let memory = Trial::test(name("memory"), move || {
        let store = |flaws| Ok(MemoryNamespaces { flaws });
        caught("memory", store, &property, flaw, shortest)
    });
    let sqlite = Trial::test(name("sqlite"), move || {
        caught("sqlite", SqliteNamespaces::temporary, &property, flaw, shortest)
    });
    vec![memory, sqlite]
}

fn caught<N: Namespaces>(
    store: &'static str,
    open: impl Fn(Flaws) -> Result<N, stagefault_models::BackendError>,
    property: &Property,
    flaw: Flaw,
    shortest: usize,
) -> Result<(), Failed> {
    let flaws = Flaws::planted(flaw).ok_or("this test needs the cargo feature `flaws`")?;
    let folder = tempfile::tempdir()?;
    let suite = Suite { store, namespaces: open(flaws)?, kept: folder.path().to_owned() };
    // Without the schedules written by hand, some of which would catch it at once.
    let random = Property { directed: Vec::new, ..*property };

    let Err(PropertyError::Found { path, shrunk, .. }) = suite.check(&random) else {
        return Err(format!("{flaw} was not caught by random schedules").into());
    };
    let violation = shrunk.failing.violation;
    assert_eq!(violation.invariant, property.invariant, "{violation}");

    let kept = Schedule::from_json(&std::fs::read_to_string(&path)?)?;
    assert!(kept.operations.len() <= shortest + SLACK, "not shrunk:\n{}", kept.to_json());

    let again = violation_of(&suite.namespaces, &kept)?.ok_or("the kept schedule passes")?;
    assert_eq!(again.signature(), violation.signature());

    let Err(PropertyError::Known { name, .. }) = suite.check(&random) else {
        return Err("the kept schedule was not replayed first".into());
    };
    assert_eq!(name, path.display().to_string());

    let sound = violation_of(&open(Flaws::none())?, &kept)?;
    assert_eq!(sound, None, "the kept schedule must pass without the flaw");
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

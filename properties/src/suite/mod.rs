//! The properties, each for any store.
//!
//! A [`Property`] is an invariant with a profile that puts weight on it and schedules
//! written by hand for what was reported in the field. [`Suite::check`] holds a store to
//! one: first the schedules that failed before, then those by hand, then random ones by
//! proptest. A random failure is shrunk, kept as a document, and replayed first the next
//! time. [`Suite::trials`] gives them to a test harness, named `store::property`, and
//! [`main`] is the whole of a test binary for a store of your own.

mod append_idempotency;
mod atomicity;
mod call_lifecycle;
mod coordination;
mod kept;
mod staging_cleanup;
mod strategy;
mod version_monotonicity;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Completion, Failed, Trial};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use stagefault_models::{Backend, BackendError, Invariant, Namespaces, Schedule};
use tokio::runtime::Runtime;

use crate::profile::Profile;
use crate::sequential::{Options, Replayed, Sequential, replay};
use crate::shrink::{self, Shrunk};
use crate::violation::{EpisodeError, Violation};

pub use append_idempotency::APPEND_IDEMPOTENCY;
pub use atomicity::ATOMICITY;
pub use call_lifecycle::CALL_LIFECYCLE;
pub use coordination::COORDINATION;
pub use kept::KeptError;
pub use staging_cleanup::STAGING_CLEANUP;
pub use strategy::Schedules;
pub use version_monotonicity::VERSION_MONOTONICITY;

/// An invariant that a store is held to.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The invariant; it gives the property its name.
    pub invariant: Invariant,
    /// The profile of its random schedules.
    pub profile: &'static str,
    /// Its schedules written by hand.
    pub directed: fn() -> Vec<Schedule>,
}

/// Every property that a sequential lane can show, in the order of the contract.
pub const PROPERTIES: [Property; 6] = [
    ATOMICITY,
    VERSION_MONOTONICITY,
    APPEND_IDEMPOTENCY,
    STAGING_CLEANUP,
    CALL_LIFECYCLE,
    COORDINATION,
];

/// How many random schedules a property is held to; `PROPTEST_CASES` says otherwise.
pub const DEFAULT_CASES: u32 = 32;

/// A store and how it is held to the properties.
pub struct Suite<N> {
    /// The store's name, first in the names of its tests.
    pub store: &'static str,
    /// Where its fresh namespaces come from.
    pub namespaces: N,
    /// The folder in which failing schedules are kept.
    pub kept: PathBuf,
}

/// Why a store does not have a property, or why that cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum PropertyError {
    /// A schedule that is kept or written by hand shows a violation.
    #[error("{name}: {violation}")]
    Known {
        /// The kept file, or which of the schedules written by hand.
        name: String,
        /// What it shows.
        violation: Box<Violation>,
    },
    /// A random schedule shows a violation; it is shrunk and kept.
    #[error(
        "{}\nshrunk to {} operations and kept; replay it with\n  stagefault replay --store {store} {}",
        .shrunk.failing.violation, .shrunk.failing.schedule.operations.len(), .path.display()
    )]
    Found {
        /// The store's name.
        store: &'static str,
        /// The kept file.
        path: PathBuf,
        /// The shrunk schedule and what it shows.
        shrunk: Box<Shrunk>,
    },
    /// A random schedule shows a violation that does not show again: the store is not
    /// deterministic, or remembers what it should not.
    #[error("{violation}\nseen once, and not again when the schedule was replayed ({path})")]
    NotReproduced {
        /// The kept file, not shrunk.
        path: PathBuf,
        /// What was seen.
        violation: Box<Violation>,
    },
    /// The store could not be started at all.
    #[error("the store is not available: {0}")]
    Unavailable(BackendError),
    /// Kept schedules could not be read or written.
    #[error(transparent)]
    Kept(#[from] KeptError),
    /// The store could not be used.
    #[error(transparent)]
    Trouble(#[from] EpisodeError),
    /// Something that the suite itself needs failed.
    #[error("{0}")]
    Harness(String),
}

impl<N: Namespaces> Suite<N> {
    /// Finds out whether the store can be started.
    ///
    /// # Errors
    /// [`PropertyError::Unavailable`], with the reason.
    pub fn available(&self) -> Result<(), PropertyError> {
        self.start(&runtime()?)
    }

    fn start(&self, runtime: &Runtime) -> Result<(), PropertyError> {
        let started = runtime.block_on(async { self.namespaces.fresh().await?.remove().await });
        started.map_err(PropertyError::Unavailable)
    }

    /// Holds the store to a property.
    ///
    /// # Errors
    /// The violation that was found, or that the store could not be used.
    pub fn check(&self, property: &Property) -> Result<(), PropertyError> {
        let runtime = runtime()?;
        self.start(&runtime)?;
        let folder = self.kept.join(property.invariant.as_str());
        for (path, schedule) in kept::read(&folder)? {
            self.known(&runtime, &path.display().to_string(), &schedule)?;
        }
        for (number, schedule) in (property.directed)().iter().enumerate() {
            self.known(&runtime, &format!("directed schedule {number}"), schedule)?;
        }
        match self.random(&runtime, property)? {
            Some((schedule, violation)) => Err(self.found(&runtime, &folder, schedule, violation)),
            None => Ok(()),
        }
    }

    fn known(
        &self,
        runtime: &Runtime,
        name: &str,
        schedule: &Schedule,
    ) -> Result<(), PropertyError> {
        let replayed = runtime.block_on(async {
            let backend = self.namespaces.fresh().await?;
            replay(backend, schedule).await
        });
        replayed.map_err(|error| match error {
            EpisodeError::Violation(violation) => {
                PropertyError::Known { name: name.to_owned(), violation }
            }
            trouble => trouble.into(),
        })
    }

    /// Random schedules on one backend; the first that fails, and how.
    fn random(
        &self,
        runtime: &Runtime,
        property: &Property,
    ) -> Result<Option<(Schedule, Box<Violation>)>, PropertyError> {
        let profile = Profile::from_name(property.profile)
            .ok_or_else(|| PropertyError::Harness(format!("no profile {}", property.profile)))?;
        let options = Options { observe: true, reopen: true };
        let lane = runtime.block_on(async {
            let backend = self.namespaces.fresh().await?;
            Sequential::open(backend, profile.writers, options).await
        });
        let lane = RefCell::new(lane.map_err(EpisodeError::from)?);
        let ended = RefCell::new(None);
        let outcome =
            TestRunner::new(config()).run(&Schedules { profile, faults: None }, |schedule| {
                let mut source = Replayed::new(&schedule);
                runtime.block_on(lane.borrow_mut().episode(&mut source)).map_err(|error| {
                    let reason = error.to_string();
                    ended.replace(Some(error));
                    TestCaseError::fail(reason)
                })
            });
        match (outcome, ended.into_inner()) {
            (Ok(()), _) => {
                let removed = runtime
                    .block_on(stagefault_models::Backend::remove(lane.into_inner().into_backend()));
                removed.map(|()| None).map_err(|error| EpisodeError::from(error).into())
            }
            (Err(TestError::Fail(..)), Some(EpisodeError::Violation(violation))) => {
                Ok(Some((lane.into_inner().recorded(), violation)))
            }
            (_, Some(trouble)) => Err(trouble.into()),
            (Err(error), None) => Err(PropertyError::Harness(error.to_string())),
        }
    }

    /// Shrinks what was found and keeps it.
    fn found(
        &self,
        runtime: &Runtime,
        folder: &Path,
        schedule: Schedule,
        violation: Box<Violation>,
    ) -> PropertyError {
        let limit = shrink::DEFAULT_ATTEMPTS;
        let shrunk = runtime.block_on(shrink::shrink(&self.namespaces, &schedule, limit, |_| {}));
        let keep = |violation: &Violation, schedule: &Schedule| {
            let by = violation.operation.map_or("end".to_owned(), |kind| format!("{kind:?}"));
            kept::write(folder, &format!("{}-{by}", violation.invariant), schedule)
        };
        match shrunk {
            Ok(shrunk) => match keep(&shrunk.failing.violation, &shrunk.failing.schedule) {
                Ok(path) => {
                    PropertyError::Found { store: self.store, path, shrunk: Box::new(shrunk) }
                }
                Err(error) => error.into(),
            },
            Err(shrink::ShrinkError::Passes | shrink::ShrinkError::NotReproduced { .. }) => {
                match keep(&violation, &schedule) {
                    Ok(path) => PropertyError::NotReproduced { path, violation },
                    Err(error) => error.into(),
                }
            }
            Err(shrink::ShrinkError::Episode(error)) => error.into(),
        }
    }
}

/// The whole suite as the `main` of a test binary with `harness = false`: every property on
/// this store, named `store::property`. Failing schedules are kept in the folder `kept`.
pub fn main<N: Namespaces + Clone + 'static>(
    store: &'static str,
    namespaces: N,
    kept: PathBuf,
) -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = Suite { store, namespaces, kept }.trials();
    libtest_mimic::run(&arguments, trials).exit_code()
}

impl<N: Namespaces + Clone + 'static> Suite<N> {
    /// A test for each property, named `store::property`.
    pub fn trials(&self) -> Vec<Trial> {
        let trial = |property: Property| {
            let suite = Suite {
                store: self.store,
                namespaces: self.namespaces.clone(),
                kept: self.kept.clone(),
            };
            let name = format!("{}::{}", self.store, property.invariant);
            Trial::ignorable_test(name, move || outcome(suite.check(&property)))
        };
        PROPERTIES.into_iter().map(trial).collect()
    }
}

/// What a test answers: a store that could not be started is ignored at a desk, and fails
/// under `CI=true`.
///
/// # Errors
/// What the store was found to be guilty of, for the harness.
pub fn outcome(checked: Result<(), PropertyError>) -> Result<Completion, Failed> {
    let required = std::env::var("CI").is_ok_and(|ci| ci == "true");
    match checked {
        Ok(()) => Ok(Completion::Completed),
        Err(PropertyError::Unavailable(error)) if !required => Ok(Completion::ignored_with(error)),
        Err(error) => Err(Failed::from(error.to_string())),
    }
}

fn runtime() -> Result<Runtime, PropertyError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| PropertyError::Harness(format!("no async runtime: {error}")))
}

fn config() -> Config {
    let standard = Config::default();
    let said = std::env::var_os("PROPTEST_CASES").is_some();
    Config {
        cases: if said { standard.cases } else { DEFAULT_CASES },
        // A failing schedule is kept as a document, which a seed could not replace.
        failure_persistence: None,
        ..standard
    }
}

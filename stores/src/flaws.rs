//! Planted bugs: what proves that a green run means something.
//!
//! A store asks [`Flaws::has`] at the place where a flaw would live. Without the cargo
//! feature `flaws` the answer is a constant `false`, and the compiler removes the bug.

use std::fmt;

/// A bug that can be planted in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A promote does not compare the expected version.
    VersionNotChecked,
    /// A message that is already there is appended again.
    AppendNotIdempotent,
    /// A promote applies the step's staging and leaves it where it is.
    StagingNotCleared,
    /// A result submitted at or after the call's deadline counts.
    DeadlineIgnored,
    /// A promote writes its changes before it finds that a message conflicts.
    ChangesBeforeMessageConflict,
    /// An interrupt that is consumed stays requested.
    InterruptNotCleared,
}

impl Flaw {
    /// Every flaw.
    pub const ALL: [Flaw; 6] = [
        Flaw::VersionNotChecked,
        Flaw::AppendNotIdempotent,
        Flaw::StagingNotCleared,
        Flaw::DeadlineIgnored,
        Flaw::ChangesBeforeMessageConflict,
        Flaw::InterruptNotCleared,
    ];

    /// The flaw's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Flaw::VersionNotChecked => "version-not-checked",
            Flaw::AppendNotIdempotent => "append-not-idempotent",
            Flaw::StagingNotCleared => "staging-not-cleared",
            Flaw::DeadlineIgnored => "deadline-ignored",
            Flaw::ChangesBeforeMessageConflict => "changes-before-message-conflict",
            Flaw::InterruptNotCleared => "interrupt-not-cleared",
        }
    }

    /// The flaw of that name.
    pub fn from_name(name: &str) -> Option<Flaw> {
        Flaw::ALL.into_iter().find(|flaw| flaw.name() == name)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The flaws that are planted in one store: none, or one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flaws {
    planted: Option<Flaw>,
}

impl Flaws {
    /// Whether this build can plant any.
    pub const ENABLED: bool = cfg!(feature = "flaws");

    /// A store without flaws.
    pub fn none() -> Self {
        Flaws { planted: None }
    }

    /// A store with this flaw, if the build can plant one.
    pub fn planted(flaw: Flaw) -> Option<Self> {
        Flaws::ENABLED.then_some(Flaws { planted: Some(flaw) })
    }

    /// Whether this flaw is planted.
    #[inline]
    pub(crate) fn has(&self, flaw: Flaw) -> bool {
        Flaws::ENABLED && self.planted == Some(flaw)
    }
}

//! What the exit status says. Every command ends in one of these.

use std::process::ExitCode;

use crate::signals::Signal;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All that was run held.
    Held,
    /// A store broke the contract.
    Violation,
    /// The arguments, or a file that they name, cannot be used.
    Usage,
    /// The store, the run folder or the machine refused.
    CouldNotRun,
    /// It held as far as could be told, and not all could be.
    Undecided,
    /// A signal ended it early, and what had run until then held.
    Interrupted(Signal),
}

impl Exit {
    /// The graver of two.
    pub fn graver(self, other: Exit) -> Exit {
        let gravity = |exit: &Exit| match exit {
            Exit::Held => 0,
            Exit::Interrupted(_) => 1,
            Exit::Undecided => 2,
            Exit::CouldNotRun => 3,
            Exit::Usage => 4,
            Exit::Violation => 5,
        };
        std::cmp::max_by_key(self, other, gravity)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Held => 0,
            Exit::Violation => 1,
            Exit::Usage => 2,
            Exit::CouldNotRun => 3,
            Exit::Undecided => 4,
            Exit::Interrupted(signal) => signal.exit_status(),
        })
    }
}

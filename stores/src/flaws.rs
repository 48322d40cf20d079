//! Planted bugs: what proves that a green run means something.
//!
//! A store asks `Flaws::has` at the place where a flaw would live. Without the cargo
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
    /// A promote clears the staging of every step.
    OtherStagingCleared,
    /// A cleanup leaves staging that is past its time to live.
    StagingOutlivesItsTime,
    /// A tool call that stages again keeps what it staged first.
    FirstStageKept,
    /// A promote applies the staged calls by name, whatever their times.
    StagingInOrderOfNames,
    /// The step promoted last can be staged and promoted again.
    StepNotClosed,
    /// A promote writes its changes before it finds that a message conflicts.
    ChangesBeforeMessageConflict,
    /// A result submitted at or after the call's deadline counts.
    DeadlineIgnored,
    /// A result counts that another run than the call's own submits.
    FenceIgnored,
    /// A second result replaces the first.
    SecondResultWins,
    /// A call that is registered again is pending again.
    RegistrationReopens,
    /// A sweep expires, and lists, calls that are expired already.
    ExpiredTwice,
    /// The status moves whatever it was.
    StatusNotCompared,
    /// An interrupt that is consumed stays requested.
    InterruptNotCleared,
    /// A touch that clears the expiry leaves it.
    ExpiryNotCleared,
    /// A sweep expires calls by one statement, which sees those that were registered before
    /// it began, and submitted before it came to them.
    SweepOfOneUpdate,
    /// A sweep locks its sessions in the statement that writes, and so writes what was there
    /// before it had to wait.
    SweepLocksInTheWrite,
    /// A promote is guarded by the version, which a stage does not move.
    PromoteGuardedByVersion,
    /// A creation looks whether the session is there, and then makes it, whoever made it meanwhile.
    CreateChecksFirst,
    /// A load reads the session, and then what hangs on it.
    LoadInParts,
    /// A stage looks whether its step is closed, and then stages, though it may be closed by then.
    StageChecksFirst,
    /// A discard counts the step's calls, and then removes those that are there.
    DiscardCountsFirst,
    /// A promote reads all that it needs, and then writes, whoever wrote meanwhile.
    PromoteChecksFirst,
    /// An append reads which messages are there, and then writes after them, whoever appended meanwhile.
    AppendChecksFirst,
    /// The status is compared, and then moved, whatever it is by then.
    StatusComparedFirst,
    /// A run counts those before it, and then takes the next turn, which another may have taken.
    RunsCountedFirst,
    /// An interrupt is seen, and then cleared and taken, though another may have taken it.
    InterruptSeenFirst,
    /// A registration looks whether the call is there, and then writes it, whoever wrote it meanwhile.
    RegisterChecksFirst,
    /// A submit looks whether the call is pending, and then writes its result over whatever is there.
    SubmitChecksFirst,
    /// A sweep lists the calls that are due, and then expires these, whatever became of them.
    ExpiryListsFirst,
    /// A cleanup lists the expired sessions, and then removes these, though one was touched.
    CleanupListsFirst,
    /// A cleanup lists the staging that is past its time, and then removes it, though staged anew.
    StagingListedFirst,
    /// Whatever error a commit fails with, it is told as not applied (C42).
    CommitErrorNotApplied,
    /// A commit whose connection broke is told as done (C29).
    DoneOnLostCommit,
    /// A commit is told as not applied because of what the text of its error says.
    ErrorTextMatched,
    /// An operation whose deadline passed is told as not applied, whatever it had sent (C20).
    TimeoutNotApplied,
    /// An operation in doubt is executed again, and its second answer given (C15).
    RetryInDoubt,
    /// A caller that goes away while a transaction begins leaves it open for the next one (C26).
    BeginNotGuarded,
    /// A transaction whose caller went away is left open for the next one (C26).
    DroppedTransactionKept,
    /// A transaction of which a statement failed stays, and fails all that come after it (C27).
    FailedTransactionKept,
    /// A transaction that finds nothing to write is left open, with its locks.
    IdleLeftInTransaction,
    /// The error of a transaction's statement is passed over, and the transaction committed (C28).
    ErrorSwallowed,
    /// The result of a statement is taken for its commit, which may yet fail (C28).
    ResultTakenForCommit,
    /// A promote is several statements, each of which commits by itself (C30).
    StatementByStatement,
    /// Statements of a transaction whose connection broke are sent again, outside of it (C30).
    StatementReplayedOutside,
    /// A connection that broke is used again, for ever (C03).
    BrokenLinkKept,
    /// The server does not wait until a commit is written before it confirms it (C36).
    CommitNotFlushed,
    /// A read whose connection broke is taken for one that found nothing.
    ErrorRefused,
    /// A transaction whose commit was BUSY is left open (C31).
    BusyAtCommitLeftOpen,
}

impl Flaw {
    /// Every flaw.
    pub const ALL: [Flaw; 51] = [
        Flaw::VersionNotChecked,
        Flaw::AppendNotIdempotent,
        Flaw::StagingNotCleared,
        Flaw::OtherStagingCleared,
        Flaw::StagingOutlivesItsTime,
        Flaw::FirstStageKept,
        Flaw::StagingInOrderOfNames,
        Flaw::StepNotClosed,
        Flaw::ChangesBeforeMessageConflict,
        Flaw::DeadlineIgnored,
        Flaw::FenceIgnored,
        Flaw::SecondResultWins,
        Flaw::RegistrationReopens,
        Flaw::ExpiredTwice,
        Flaw::StatusNotCompared,
        Flaw::InterruptNotCleared,
        Flaw::ExpiryNotCleared,
        Flaw::SweepOfOneUpdate,
        Flaw::SweepLocksInTheWrite,
        Flaw::PromoteGuardedByVersion,
        Flaw::CreateChecksFirst,
        Flaw::LoadInParts,
        Flaw::StageChecksFirst,
        Flaw::DiscardCountsFirst,
        Flaw::PromoteChecksFirst,
        Flaw::AppendChecksFirst,
        Flaw::StatusComparedFirst,
        Flaw::RunsCountedFirst,
        Flaw::InterruptSeenFirst,
        Flaw::RegisterChecksFirst,
        Flaw::SubmitChecksFirst,
        Flaw::ExpiryListsFirst,
        Flaw::CleanupListsFirst,
        Flaw::StagingListedFirst,
        Flaw::CommitErrorNotApplied,
        Flaw::DoneOnLostCommit,
        Flaw::ErrorTextMatched,
        Flaw::TimeoutNotApplied,
        Flaw::RetryInDoubt,
        Flaw::BeginNotGuarded,
        Flaw::DroppedTransactionKept,
        Flaw::FailedTransactionKept,
        Flaw::IdleLeftInTransaction,
        Flaw::ErrorSwallowed,
        Flaw::ResultTakenForCommit,
        Flaw::StatementByStatement,
        Flaw::StatementReplayedOutside,
        Flaw::BrokenLinkKept,
        Flaw::CommitNotFlushed,
        Flaw::ErrorRefused,
        Flaw::BusyAtCommitLeftOpen,
    ];

    /// The flaw's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Flaw::VersionNotChecked => "version-not-checked",
            Flaw::AppendNotIdempotent => "append-not-idempotent",
            Flaw::StagingNotCleared => "staging-not-cleared",
            Flaw::OtherStagingCleared => "other-staging-cleared",
            Flaw::StagingOutlivesItsTime => "staging-outlives-its-time",
            Flaw::FirstStageKept => "first-stage-kept",
            Flaw::StagingInOrderOfNames => "staging-in-order-of-names",
            Flaw::StepNotClosed => "step-not-closed",
            Flaw::ChangesBeforeMessageConflict => "changes-before-message-conflict",
            Flaw::DeadlineIgnored => "deadline-ignored",
            Flaw::FenceIgnored => "fence-ignored",
            Flaw::SecondResultWins => "second-result-wins",
            Flaw::RegistrationReopens => "registration-reopens",
            Flaw::ExpiredTwice => "expired-twice",
            Flaw::StatusNotCompared => "status-not-compared",
            Flaw::InterruptNotCleared => "interrupt-not-cleared",
            Flaw::ExpiryNotCleared => "expiry-not-cleared",
            Flaw::SweepOfOneUpdate => "sweep-of-one-update",
            Flaw::SweepLocksInTheWrite => "sweep-locks-in-the-write",
            Flaw::PromoteGuardedByVersion => "promote-guarded-by-version",
            Flaw::CreateChecksFirst => "create-checks-first",
            Flaw::LoadInParts => "load-in-parts",
            Flaw::StageChecksFirst => "stage-checks-first",
            Flaw::DiscardCountsFirst => "discard-counts-first",
            Flaw::PromoteChecksFirst => "promote-checks-first",
            Flaw::AppendChecksFirst => "append-checks-first",
            Flaw::StatusComparedFirst => "status-compared-first",
            Flaw::RunsCountedFirst => "runs-counted-first",
            Flaw::InterruptSeenFirst => "interrupt-seen-first",
            Flaw::RegisterChecksFirst => "register-checks-first",
            Flaw::SubmitChecksFirst => "submit-checks-first",
            Flaw::ExpiryListsFirst => "expiry-lists-first",
            Flaw::CleanupListsFirst => "cleanup-lists-first",
            Flaw::StagingListedFirst => "staging-listed-first",
            Flaw::CommitErrorNotApplied => "commit-error-not-applied",
            Flaw::DoneOnLostCommit => "done-on-lost-commit",
            Flaw::ErrorTextMatched => "error-text-matched",
            Flaw::TimeoutNotApplied => "timeout-not-applied",
            Flaw::RetryInDoubt => "retry-in-doubt",
            Flaw::BeginNotGuarded => "begin-not-guarded",
            Flaw::DroppedTransactionKept => "dropped-transaction-kept",
            Flaw::FailedTransactionKept => "failed-transaction-kept",
            Flaw::IdleLeftInTransaction => "idle-left-in-transaction",
            Flaw::ErrorSwallowed => "error-swallowed",
            Flaw::ResultTakenForCommit => "result-taken-for-commit",
            Flaw::StatementByStatement => "statement-by-statement",
            Flaw::StatementReplayedOutside => "statement-replayed-outside",
            Flaw::BrokenLinkKept => "broken-link-kept",
            Flaw::CommitNotFlushed => "commit-not-flushed",
            Flaw::ErrorRefused => "error-refused",
            Flaw::BusyAtCommitLeftOpen => "busy-at-commit-left-open",
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

    /// Whether no flaw is planted.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        !Flaws::ENABLED || self.planted.is_none()
    }

    /// Whether this flaw is planted.
    #[inline]
    pub(crate) fn has(&self, flaw: Flaw) -> bool {
        Flaws::ENABLED && self.planted == Some(flaw)
    }
}

//! The lane that runs for hours: concurrent episodes, judged one by one, in a folder that
//! a later process can go on with.
//!
//! - [`documents`]: what is in the folder, as JSON.
//! - [`journal`]: what was counted, a line a second, which survives a crash.
//! - [`folder`]: the folder as it is read back, by `--resume` and by `report`.
//! - [`episodes`]: the loop, and [`failures`], which keeps and shrinks what it finds.
//! - [`shard`], [`signature`], [`coverage`], [`fault_coverage`]: which episodes are this run's,
//!   which failures are known, and what a run must have seen to mean anything.
//! - [`outcome`]: what it all comes to, in one word and an exit status.

pub mod coverage;
pub mod documents;
pub mod episodes;
pub mod failures;
pub mod fault_coverage;
pub mod folder;
pub mod journal;
pub mod outcome;
pub mod shard;
pub mod signature;

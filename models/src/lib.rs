//! The contract of staging/promote stores, and the reference that they are held against.
//!
//! This crate is pure: no I/O, no clock, no threads. All other crates of Stagefault stand
//! on it, and it knows none of them.
//!
//! - [`checker`]: whether a concurrent history is linearizable.
//! - [`contract`]: operations and completions, as data.
//! - [`model`]: the reference, [`model::step`], and a whole store of sessions.
//! - [`invariants`]: what must hold of every operation, stated without the model's help.
//! - [`backend`]: the traits that a store under test implements.
//! - [`fault`]: what an operation is made to meet, at which point.
//! - [`history`]: what a concurrent run recorded.
//! - [`schedule`]: the document that every lane writes and replays.
//! - [`audit`]: raw rows held against the model.
//! - [`worlds`]: what a session can be after operations in doubt.

pub mod audit;
pub mod backend;
pub mod checker;
pub mod contract;
pub mod fault;
pub mod history;
pub mod invariants;
pub mod model;
pub mod schedule;
pub mod worlds;

pub use backend::{
    Backend, BackendError, BoxedBackend, BoxedNamespaces, BoxedStore, Capabilities, Hook,
    Namespaces, Scope, Store,
};
pub use contract::{
    Call, CallState, Cause, Change, CleanedStaging, Completion, CompletionKind, ExpiredCall,
    Failure, Id, Message, Millis, Operation, OperationKind, Promote, Reason, Refusal, Reply,
    Resolution, Shared, Snapshot, Stage, StagedMark, Status, Value, Version,
};
pub use fault::{Fault, FaultKind, Point, Receipt};
pub use history::{History, HistoryError, Recorded, Returned};
pub use invariants::{Invariant, Observation, Seen};
pub use model::{Session, SessionState, StoreModel};
pub use schedule::{Entry, Interleaving, Origin, Schedule, ScheduleError};

//! The contract as data: an [`Operation`] in, a [`Completion`] out.
//!
//! These types are all that models, stores and drivers share. They hold no behaviour but
//! the contract's own equality of values and its rule of what is valid.

mod change;
mod completion;
mod id;
mod operation;
mod session;
mod shared;
mod validate;
mod value;

pub use change::Change;
pub use completion::{
    Cause, CleanedStaging, Completion, CompletionKind, ExpiredCall, Failure, Reason, Refusal,
    Reply, Resolution,
};
pub use id::Id;
pub use operation::{Operation, OperationKind, Promote, Stage};
pub use session::{Call, CallState, Message, Millis, Snapshot, StagedMark, Status, Version};
pub use shared::Shared;
pub use validate::{MAX_PAGE, MAX_TIME, MAX_VALUE_BYTES};
pub use value::{Float, Value};

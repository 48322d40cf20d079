//! Properties of staging/promote stores: how schedules are generated, driven, checked and
//! shrunk.
//!
//! - [`generator`]: operations that follow the model's state, drawn from any [`choices`].
//! - [`profile`]: what a schedule is made of, as data; [`faults`]: what is made to fail for real.
//! - [`sequential`]: the lane that holds a store against the model, operation by operation.
//! - [`concurrent`]: the lane of several writers at once, whose histories are checked.
//! - [`replay`]: a schedule again, on the lane that it is for.
//! - [`shrink`]: from a long failing schedule to a short one that fails in the same way.
//! - [`catalogue`]: the planted flaws, and what is expected of the lanes.
//! - [`suite`]: the properties, for any store; [`script`] writes schedules by hand.

pub mod catalogue;
pub mod choices;
pub mod concurrent;
pub mod faults;
pub mod generator;
pub mod profile;
pub mod replay;
pub mod script;
pub mod sequential;
pub mod shrink;
pub mod suite;
pub mod tally;
pub mod violation;

//! What the tests of several stores share: how to ask a store, values to try it with, and
//! the reference model to hold it against.

#![allow(dead_code, reason = "not every store's tests use all of it")]

pub mod agreement;
pub mod choices;
pub mod hold;
pub mod points;
pub mod requests;
pub mod values;

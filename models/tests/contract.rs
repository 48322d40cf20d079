//! The contract, proved in three parts: the reference model against the contract's text,
//! the invariants against the model, and the JSON form against its golden files.
//!
//! One binary, so that all parts speak the same [`words`].

mod invariants;
mod json_form;
mod model;
mod words;

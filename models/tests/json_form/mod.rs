//! The JSON form of the contract: what is written is read back equal, and what was
//! written by an earlier build of the same format version is read for ever.

mod document;
mod errors;
mod golden;
mod history;
mod leniency;
mod round_trip;
mod strategies;

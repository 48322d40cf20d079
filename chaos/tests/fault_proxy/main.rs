//! The fault proxy before a real server: it cuts where it is told to, what it says of the
//! commit is so, and what it does not cut passes unharmed.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod commits;
mod cuts;
mod desk;
mod given_up;
mod held;
mod passes;
mod places;

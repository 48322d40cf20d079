//! The commands, a file each. Each answers with the exit status or an error.

pub mod check;
pub mod completions;
pub mod doctor;
pub mod flaws;
pub mod matrix;
pub mod proxy;
pub mod replay;
pub mod report;
pub mod run;
pub mod shrink;

//! The `stagefault` command, as a person or a script meets it: the real binary, its exit
//! status, what it prints and the files that it leaves. A file for each matter.

mod bad_input;
mod flaws;
mod holds;
mod places;
mod printing;
mod replaying;
mod shrinking;
mod signals;
mod support;
mod violations;

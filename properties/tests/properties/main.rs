//! The properties on every store, named `store::property`, and for every planted flaw the
//! property that must catch it.
//!
//! One binary with a harness of its own, so that it links once, and so that a store that
//! cannot be started is ignored at a desk and fails where `CI=true`. The properties
//! themselves are in the library, a file for each invariant, for they hold any store.

mod caught;
mod minima;
mod postgres;
mod stores;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = stores::trials();
    trials.extend(caught::trials());
    trials.extend(minima::trials());
    let conclusion = libtest_mimic::run(&arguments, trials);
    postgres::stop();
    conclusion.exit_code()
}

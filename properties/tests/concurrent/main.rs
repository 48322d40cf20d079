//! The concurrent lane on every store: the stores hold, and every planted flaw that needs
//! several writers is caught within a bounded number of episodes.

mod broken;
mod caught;
mod chaos;
mod hold;
#[path = "../properties/postgres.rs"]
mod postgres;
mod stores;
mod tormented;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = hold::trials();
    trials.extend(caught::trials());
    trials.extend(broken::trials());
    trials.extend(tormented::trials());
    trials.extend(chaos::trials());
    let conclusion = libtest_mimic::run(&arguments, trials);
    postgres::stop();
    conclusion.exit_code()
}

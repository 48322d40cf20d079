//! The postgres store against its promises: what the contract says, also of many writers
//! at once, and what a server, a lock, a deadline and a caller that goes away do to it.
//!
//! All tests share one throw-away server, started before the first of them. Where there is
//! none to be had, they show as ignored at a desk, and fail where `CI=true`.

mod access;
mod broken;
mod cuts;
mod databases;
mod deadlines;
mod disk_full;
mod gives_up;
mod halves;
mod left_open;
mod lost_replies;
mod model;
mod points;
mod provoking;
// The whole workspace is built with its flaws, this package alone without.
#[cfg(feature = "flaws")]
mod planted;
mod races;
mod schemas;
#[path = "../shared/mod.rs"]
mod shared;
mod support;
mod sweeps;
mod values;
mod writers;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use stagefault_chaos::servers::{Options, PostgresServer, ServerError};
use support::{Server, Test};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let settings = [
        ("max_connections", "400"),
        // Whoever asks for `synchronous_commit` waits for it without end; nobody else does.
        ("synchronous_standby_names", "nobody"),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let server = PostgresServer::start(Options { settings, ..Options::default() });
    let url = server.as_ref().map(PostgresServer::url);
    let mut trials: Vec<Trial> =
        tests().into_iter().map(|(name, test)| trial(name, test, &url)).collect();
    trials.push(disk_full::trial(url.map_err(ToString::to_string)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(server);
    conclusion.exit_code()
}

/// Every test by its name.
fn tests() -> Vec<(&'static str, Test)> {
    [
        access::tests(),
        broken::tests(),
        cuts::tests(),
        databases::tests(),
        deadlines::tests(),
        gives_up::tests(),
        halves::tests(),
        left_open::tests(),
        lost_replies::tests(),
        model::tests(),
        points::tests(),
        #[cfg(feature = "flaws")]
        planted::tests(),
        races::tests(),
        schemas::tests(),
        sweeps::tests(),
        values::tests(),
        writers::tests(),
    ]
    .concat()
}

fn trial(name: &'static str, test: Test, url: &Result<String, &ServerError>) -> Trial {
    match url {
        Ok(url) => {
            let server = Server::at(url.clone());
            Trial::test(name, move || support::run(test, server))
        }
        Err(error) => {
            let reason = error.to_string();
            Trial::test(name, move || Err(Failed::from(reason)))
                .with_ignored_flag(!support::is_required())
        }
    }
}

//! Clients of Toxiproxy that others wrote drive ours through all standard toxics.
//!
//! They drive a real Toxiproxy instead where `STAGEFAULT_TOXIPROXY_URL` names one, such as
//! `http://127.0.0.1:8474`. The one from npm shows as ignored at a desk without npm, and
//! fails where `CI=true`; the one in Rust needs the cargo feature `toxiproxy`.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "../toxiproxy/desk.rs"]
#[allow(dead_code, reason = "the clients ask by themselves")]
mod desk;
mod node;
#[cfg(feature = "toxiproxy")]
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../../../stores/tests/shared/requests.rs"]
mod requests;
#[cfg(feature = "toxiproxy")]
mod rust;
#[cfg(feature = "toxiproxy")]
mod store;

use std::process::ExitCode;

use desk::Desk;
use libtest_mimic::{Arguments, Trial};

/// Where a Toxiproxy answers.
const URL_VARIABLE: &str = "STAGEFAULT_TOXIPROXY_URL";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    #[cfg_attr(not(feature = "toxiproxy"), allow(unused_mut))]
    let mut trials: Vec<Trial> = node::trials();
    #[cfg(feature = "toxiproxy")]
    trials.extend(rust::trials().into_iter().chain(store::trials()));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The URL of the Toxiproxy to drive: the one that is named, or that of this desk.
fn url(desk: &Desk) -> String {
    let named = std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty());
    named.unwrap_or_else(|| format!("http://{}", desk.address()))
}

/// A runtime for a test of its own. It has threads, for a client may block one.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

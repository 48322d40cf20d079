//! The properties on every store, named `store::property`, and for every property the
//! planted flaws that it must catch.
//!
//! One binary with a harness of its own, so that it links once, and so that a store that
//! cannot be started shows as ignored at a desk and fails where `CI=true`.

mod append_idempotency;
mod atomicity;
mod call_lifecycle;
mod caught;
mod coordination;
mod staging_cleanup;
mod stores;
mod version_monotonicity;

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = stores::trials();
    trials.extend(atomicity::trials());
    trials.extend(version_monotonicity::trials());
    trials.extend(append_idempotency::trials());
    trials.extend(staging_cleanup::trials());
    trials.extend(call_lifecycle::trials());
    trials.extend(coordination::trials());
    libtest_mimic::run(&arguments, trials).exit();
}

//! Profiles: what a generated schedule is made of, as one table.
//!
//! A profile is data, so that a lane names one instead of setting a dozen flags, and a
//! reader sees side by side what each puts its weight on.

use std::time::Duration;

use stagefault_models::OperationKind;

/// A mixture of operations and names.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The profile's name on the command line.
    pub name: &'static str,
    /// What it is for, in a line.
    pub about: &'static str,
    /// The relative weight of each operation, in the order of [`OperationKind::ALL`].
    pub weights: [u32; OperationKind::ALL.len()],
    /// How many operations an episode has.
    pub operations: u32,
    /// How many writers take turns.
    pub writers: u32,
    /// How many sessions they share.
    pub sessions: u32,
    /// How many steps, calls, runs and state keys a session's operations choose from. Few,
    /// so that they collide.
    pub names: u32,
    /// Out of a hundred operations, how many are stale, late or repeated on purpose.
    pub stray: u32,
    /// Out of a thousand operations, how many are invalid on purpose.
    pub invalid: u32,
    /// Out of a thousand values, how many are as large as the contract admits.
    pub large: u32,
    /// Out of four sessions, how many expire.
    pub expiring: u32,
    /// Within how many milliseconds a session that expires does.
    pub expiry: u32,
    /// Within how many milliseconds a call that is registered is due.
    pub due: u32,
    /// For how many milliseconds such a call may already be due.
    pub overdue: u32,
    /// How many message ids a session's messages choose from.
    pub messages: u32,
    /// Out of a thousand operations, how many the concurrent lane makes fail.
    pub faults: u32,
    /// Out of a thousand operations, how many meet a fault that is done for real, where
    /// the store is set up for that.
    pub real: u32,
    /// Out of four episodes, in how many none does.
    pub calm: u32,
    /// How long an operation may take; a connection that is silent costs all of it.
    pub deadline: Duration,
    /// Whether episodes may go without some of the operations; not where it takes all of
    /// them to show what the profile is for.
    pub swarm: bool,
}

impl Profile {
    /// The profile of that name.
    pub fn from_name(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The profile of the chaos lane, when none is named.
    pub fn chaos() -> &'static Profile {
        Profile::from_name("chaos").expect("it is in the table")
    }

    /// The profile that lanes use when none is named.
    pub fn standard() -> &'static Profile {
        &PROFILES[0]
    }
}

/// How long an operation may take that a fault is done to.
pub const DEADLINE_UNDER_FAULTS: Duration = Duration::from_millis(1_500);

/// What most profiles have in common.
const COMMON: Profile = Profile {
    name: "",
    about: "",
    weights: [0; OperationKind::ALL.len()],
    operations: 200,
    writers: 2,
    sessions: 4,
    names: 5,
    stray: 10,
    invalid: 10,
    large: 0,
    expiring: 1,
    expiry: 400,
    due: 120,
    overdue: 0,
    messages: 100,
    faults: 0,
    real: 0,
    calm: 0,
    deadline: Duration::from_secs(10),
    swarm: true,
};

/// Every profile; the first is the standard one.
#[rustfmt::skip]
pub static PROFILES: &[Profile] = &[
    //                                                                             create
    //                                                                             |  delete
    //                                                                             |  |  load
    //                                                                             |  |  |  read messages
    //                                                                             |  |  |  |  touch
    //                                                                             |  |  |  |  |  stage
    //                                                                             |  |  |  |  |  |   discard
    //                                                                             |  |  |  |  |  |   |  promote
    //                                                                             |  |  |  |  |  |   |  |   append messages
    //                                                                             |  |  |  |  |  |   |  |   |   compare and set status
    //                                                                             |  |  |  |  |  |   |  |   |   |   begin run
    //                                                                             |  |  |  |  |  |   |  |   |   |   |  request interrupt
    //                                                                             |  |  |  |  |  |   |  |   |   |   |  |  consume interrupt
    //                                                                             |  |  |  |  |  |   |  |   |   |   |  |  |  register call
    //                                                                             |  |  |  |  |  |   |  |   |   |   |  |  |  |   submit result
    //                                                                             |  |  |  |  |  |   |  |   |   |   |  |  |  |   |   expire calls
    //                                                                             |  |  |  |  |  |   |  |   |   |   |  |  |  |   |   |  cleanup
    Profile { name: "balanced",     about: "every operation",             weights: [3, 1, 4, 3, 4, 20, 3, 20, 10, 5,  4, 3, 3, 8,  8,  2, 2], ..COMMON },
    Profile { name: "promotes",     about: "stage and promote",           weights: [2, 1, 2, 1, 0, 30, 4, 40, 4,  8,  0, 0, 0, 0,  0,  0, 1], ..COMMON },
    Profile { name: "messages",     about: "messages, often repeated",    weights: [2, 1, 2, 8, 0, 4,  1, 20, 40, 0,  0, 0, 0, 0,  0,  0, 0], ..COMMON },
    Profile { name: "calls",        about: "client tool calls",           weights: [3, 1, 2, 0, 2, 2,  0, 4,  0,  0,  2, 0, 0, 30, 40, 8, 1], stray: 20, ..COMMON },
    Profile { name: "coordination", about: "status, runs and interrupts", weights: [2, 1, 2, 0, 2, 2,  0, 8,  0,  30, 15, 15, 15, 0, 0, 0, 0], ..COMMON },
    Profile { name: "sweeps",       about: "expiry and cleanup",          weights: [8, 2, 2, 0, 15, 20, 2, 10, 2, 0,  0, 0, 0, 12, 8,  8, 8], ..COMMON },
    Profile { name: "large",        about: "values of up to 1 MiB",       weights: [3, 1, 2, 4, 0, 15, 1, 20, 10, 0,  0, 0, 0, 6,  6,  0, 1], operations: 40, sessions: 2, large: 60, ..COMMON },
    Profile { name: "invalid",      about: "input that must be refused",  weights: [3, 1, 4, 3, 4, 20, 3, 20, 10, 5,  4, 3, 3, 8,  8,  2, 2], invalid: 500, large: 5, ..COMMON },
    Profile { name: "contended",    about: "many writers on few sessions", weights: [3, 1, 5, 3, 5, 16, 3, 16, 8, 5, 5, 5, 8, 8, 10, 5, 5], operations: 120, writers: 8, sessions: 2, names: 3, expiry: 150, messages: 24, faults: 20, ..COMMON },
    Profile { name: "crowded",      about: "the same, all on one session", weights: [3, 1, 5, 3, 5, 16, 3, 16, 8, 5, 5, 5, 8, 8, 10, 5, 5], operations: 60, writers: 8, sessions: 1, names: 2, expiry: 40, messages: 6, faults: 10, ..COMMON },
    Profile { name: "swept",        about: "many writers, and sweeps among them", weights: [8, 0, 16, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 40, 8, 16, 12], operations: 160, writers: 8, sessions: 4, names: 24, expiring: 3, expiry: 30, due: 10, overdue: 30, faults: 10, swarm: false, ..COMMON },
    Profile { name: "chaos",        about: "everything, while connections and servers break", weights: [3, 1, 4, 2, 3, 16, 3, 24, 10, 5, 4, 3, 3, 8, 8, 4, 3], operations: 60, writers: 4, sessions: 2, names: 4, messages: 40, faults: 10, real: 150, calm: 1, deadline: DEADLINE_UNDER_FAULTS, ..COMMON },
    Profile { name: "commits",      about: "promotes, while connections and servers break", weights: [3, 1, 4, 2, 0, 16, 2, 60, 4, 0, 0, 0, 0, 0, 0, 0, 2], operations: 60, writers: 4, sessions: 2, names: 4, messages: 60, real: 200, deadline: DEADLINE_UNDER_FAULTS, swarm: false, ..COMMON },
    Profile { name: "lapses",       about: "sweeps, while connections and servers break", weights: [4, 0, 4, 0, 2, 24, 0, 2, 6, 0, 0, 0, 0, 24, 2, 20, 20], operations: 60, writers: 4, sessions: 2, names: 12, expiring: 1, expiry: 40, due: 10, overdue: 30, real: 200, deadline: DEADLINE_UNDER_FAULTS, swarm: false, ..COMMON },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_has_a_name_of_its_own_and_something_to_do() {
        for profile in PROFILES {
            assert!(std::ptr::eq(Profile::from_name(profile.name).expect(profile.name), profile));
            assert!(profile.weights.iter().sum::<u32>() > 0, "{}", profile.name);
        }
    }
}

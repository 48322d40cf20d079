//! Chaos on postgres: whatever breaks, random schedules hold; and flaws that only a fault can
//! show are caught by episodes of the lane, and shrunk to a schedule that holds without them.
//!
//! Some flaws take long to be met, and so only a few are hunted here unless
//! STAGEFAULT_CHAOS_FLAWS says `all`; `stagefault flaws --lane chaos` hunts them all.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use stagefault_chaos::torment::{MortalServer, TormentedNamespaces};
use stagefault_models::Schedule;
use stagefault_properties::catalogue::{self, Entry, Lane};
use stagefault_properties::concurrent::{self, Episode, Judgement, Plan, Replayer, judge, within};
use stagefault_properties::faults::Planner;
use stagefault_properties::profile::Profile;
use stagefault_properties::shrink::{ShrinkError, Shrunk, shrink};
use stagefault_properties::suite::Schedules;
use stagefault_properties::violation::Violation;
use stagefault_stores::flaws::{Flaw, Flaws};

use crate::stores::{block_on, trial};

/// How many random schedules are run, unless PROPTEST_CASES says otherwise.
const CASES: u32 = 12;

/// The most episodes that a hunt takes.
const EPISODES: u64 = 400;

/// The most candidates that a shrink replays.
const ATTEMPTS: u32 = 40;

/// The most that is spent on judging an episode.
const TIME: Duration = Duration::from_secs(60);
const BYTES: usize = 1 << 30;

/// Those that are met at once.
const SOON: [Flaw; 2] = [Flaw::CommitErrorNotApplied, Flaw::DoneOnLostCommit];

/// The property, and a hunt for each flaw.
pub fn trials() -> Vec<Trial> {
    let all = std::env::var("STAGEFAULT_CHAOS_FLAWS").is_ok_and(|which| which == "all");
    let hunted = |entry: &&Entry| {
        let here = entry.lane == Lane::Chaos && entry.stores.contains(&"postgres");
        here && (all || SOON.contains(&entry.flaw))
    };
    let property = "postgres::random_schedules_hold_whatever_breaks".to_owned();
    let mut trials = vec![trial(property, "postgres", schedules_hold)];
    trials.extend(catalogue::all().filter(hunted).map(|entry| {
        let name = format!("postgres::chaos_catches_{}", entry.flaw);
        trial(name, "postgres", move || caught(entry))
    }));
    trials
}

/// Fresh schemas of a server that is this trial's own: others must not be there when it is
/// killed.
fn on(server: &Arc<MortalServer>, flaws: Flaws) -> Result<TormentedNamespaces, Failed> {
    Ok(TormentedNamespaces::on_own(server.clone(), flaws)?)
}

/// Runs the schedule, and judges it.
async fn replayed(
    namespaces: &TormentedNamespaces,
    schedule: &Schedule,
) -> Result<Option<Violation>, Failed> {
    let mut replayer = Replayer::new(namespaces);
    let episode = replayer.replay(schedule).await?;
    let judged = judged(&episode)?;
    replayer.close().await?;
    Ok(judged)
}

fn judged(episode: &Episode) -> Result<Option<Violation>, Failed> {
    match judge(episode, within(TIME, BYTES)) {
        Judgement::Holds { .. } => Ok(None),
        Judgement::Violation(violation) => Ok(Some(*violation)),
        Judgement::Undecided(why) => Err(format!("undecided: {why}").into()),
    }
}

/// Every schedule has faults in it; one that fails is shrunk, faults and all.
fn schedules_hold() -> Result<(), Failed> {
    let namespaces = on(&MortalServer::start()?, Flaws::none())?;
    let faults = Some(Planner::new(namespaces.available()));
    let schedules = Schedules { profile: Profile::chaos(), faults };
    let said = std::env::var_os("PROPTEST_CASES").is_some();
    let standard = Config::default();
    let cases = if said { standard.cases } else { CASES };
    let config = Config { cases, failure_persistence: None, ..standard };
    let failing = RefCell::new(None);
    let outcome = TestRunner::new(config).run(&schedules, |schedule| {
        let replayed = block_on(replayed(&namespaces, &schedule)).and_then(|judged| judged);
        let failed = |reason: String| TestCaseError::fail(reason);
        match replayed.map_err(|error| failed(format!("{error:?}")))? {
            None => Ok(()),
            Some(violation) => {
                let reason = violation.to_string();
                failing.replace(Some(schedule));
                Err(failed(reason))
            }
        }
    });
    match (outcome, failing.into_inner()) {
        (Ok(()), _) => Ok(()),
        (Err(error), None) => Err(error.to_string().into()),
        (Err(error), Some(schedule)) => {
            let shrunk = block_on(shrink(&namespaces, &schedule, ATTEMPTS, |_| {}))?;
            let (how, shortest) = match shrunk {
                Ok(shrunk) => ("shrunk", shrunk.failing.schedule),
                Err(_) => ("not seen again", schedule),
            };
            Err(format!("{error}\n{how}:\n{}", shortest.to_json()).into())
        }
    }
}

fn caught(entry: &Entry) -> Result<(), Failed> {
    let flaws = Flaws::planted(entry.flaw).ok_or("this test needs the cargo feature `flaws`")?;
    let server = MortalServer::start()?;
    let (flawed, sound) = (on(&server, flaws)?, on(&server, Flaws::none())?);
    block_on(async {
        let (number, violation, shrunk) = found(entry, &flawed).await?;
        let schedule = &shrunk.failing.schedule;
        eprintln!(
            "{}: episode {number}, {}, {} operations after {} attempts",
            entry.flaw,
            violation.signature(),
            schedule.operations.len(),
            shrunk.attempts,
        );
        let held = replayed(&sound, schedule).await?;
        assert_eq!(held, None, "it must hold without the flaw:\n{}", schedule.to_json());
        Ok(())
    })?
}

/// The first episode that is a violation which replays show again, and what it shrinks to.
async fn found(
    entry: &Entry,
    namespaces: &TormentedNamespaces,
) -> Result<(u64, Violation, Shrunk), Failed> {
    let profile = entry.profile();
    let plan = Plan { profile, writers: profile.writers, by_turns: false, swarm: true };
    let available = Some(namespaces.available());
    let mut lane = concurrent::Lane::new(namespaces, plan).with_faults(available);
    for number in 0..EPISODES {
        let episode = lane.run(number, number).await?;
        // A store that says what it cannot know leaves episodes undecided, and others are not.
        let Judgement::Violation(violation) = judge(&episode, within(TIME, BYTES)) else {
            continue;
        };
        lane.renew().await?;
        match shrink(namespaces, &episode.schedule, ATTEMPTS, |_| {}).await {
            Ok(shrunk) => return Ok((number, *violation, shrunk)),
            Err(ShrinkError::Passes | ShrinkError::NotReproduced { .. }) => {}
            Err(ShrinkError::Episode(error)) => return Err(error.into()),
        }
    }
    Err(format!("{} was not caught in {EPISODES} episodes", entry.flaw).into())
}

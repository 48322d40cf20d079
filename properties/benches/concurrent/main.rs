//! How fast the concurrent lane is on each store, and how much of it is the checker; and
//! on PostgreSQL, how fast beside a raw client that sends the same statements (`raw.rs`).
//!
//! `cargo bench -p stagefault-benches --bench concurrent`, with the names of stores as
//! arguments for some of them.

mod raw;
mod traces;
#[path = "../tracing/mod.rs"]
mod tracing;
#[path = "../unplanted.rs"]
mod unplanted;

use std::error::Error;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use stagefault_chaos::servers::{Options, PostgresServer};
use stagefault_models::Namespaces;
use stagefault_properties::concurrent::{Episode, Judgement, Lane, Plan, judge, within};
use stagefault_properties::profile::Profile;
use stagefault_stores::flaws::Flaws;
use stagefault_stores::memory::MemoryNamespaces;
use stagefault_stores::postgres::{PostgresNamespaces, PostgresOptions};
use stagefault_stores::sqlite::SqliteNamespaces;
use tokio::runtime::Runtime;

/// As in the `stagefault` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long each store is driven.
const TIME: Duration = Duration::from_secs(10);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    unplanted::check();
    let named: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let wanted = |store: &str| named.is_empty() || named.iter().any(|name| name == store);
    let flaws = Flaws::none();
    if wanted("memory") {
        measure("memory", &MemoryNamespaces { flaws })?;
    }
    if wanted("sqlite") {
        measure("sqlite", &SqliteNamespaces::temporary(flaws)?)?;
    }
    if wanted("postgres") {
        let server = PostgresServer::start(Options::default())?;
        let options = PostgresOptions::from_url(&server.url())?;
        let namespaces = PostgresNamespaces { options, flaws };
        measure("postgres", &namespaces)?;
        runtime()?.block_on(raw::compare(&namespaces, plan("postgres")?))?;
    }
    Ok(())
}

/// Eight writers, who are free where there is more than one thread behind them.
fn plan(store: &str) -> Outcome<Plan> {
    let profile = Profile::from_name("contended").ok_or("no such profile")?;
    Ok(Plan { profile, writers: 8, by_turns: store == "memory", swarm: true })
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn measure<N: Namespaces>(store: &str, namespaces: &N) -> Outcome<()> {
    let plan = plan(store)?;
    runtime()?.block_on(async {
        let mut lane = Lane::new(namespaces, plan);
        let mut seeds = SmallRng::seed_from_u64(1);
        let (started, mut judging) = (Instant::now(), Duration::ZERO);
        let (mut episodes, mut operations) = (0, 0);
        while started.elapsed() < TIME {
            let episode = lane.run(episodes, seeds.next_u64()).await?;
            let ran = Instant::now();
            judged(&episode)?;
            judging += ran.elapsed();
            episodes += 1;
            operations += episode.history.operations.len();
        }
        let took = started.elapsed().as_secs_f64();
        println!(
            "{store:<9} {:>8.0} checked operations a second, {operations} in {episodes} episodes, \
             {:.0} % of the time in the checker",
            operations as f64 / took,
            100.0 * judging.as_secs_f64() / took,
        );
        lane.renew().await?;
        Ok(())
    })
}

/// Judges an episode, which must hold.
fn judged(episode: &Episode) -> Outcome<()> {
    match judge(episode, within(Duration::from_secs(60), 1 << 30)) {
        Judgement::Holds { .. } => Ok(()),
        judgement => Err(format!("{judgement:?}").into()),
    }
}

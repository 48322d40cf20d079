//! The command line: every command, option and help text.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand};
use clap_complete::Shell;
use stagefault_properties::catalogue::Lane;
use stagefault_properties::profile::{PROFILES, Profile};
use stagefault_properties::shrink::DEFAULT_ATTEMPTS;
use stagefault_stores::flaws::Flaw;

use crate::help;
use crate::lane::shard::Shard;
use crate::stores::{Choice, StoreName};

/// Finds the bugs that lose or corrupt an agent session.
///
/// Stagefault runs random operations against a staging/promote store, holds every
/// completion and every raw row against a reference model, and shrinks what fails to a
/// short schedule that anybody can replay. Without a command it is `stagefault run`.
#[derive(Debug, Parser)]
#[command(name = "stagefault", version, after_help = help::stagefault())]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Say on standard error what is being done; twice and thrice: more of it. RUST_LOG,
    /// such as `stagefault=debug,sqlx=info`, says of which parts.
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 100)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run random episodes against a store until something fails or the time is over
    #[command(long_about = help::RUN_ABOUT, after_help = help::run())]
    Run(Box<RunArguments>),
    /// Replay schedules, and say of each whether it held
    #[command(long_about = help::REPLAY_ABOUT, after_help = help::replay())]
    Replay(ReplayArguments),
    /// Shrink a failing schedule to a short one that fails in the same way
    #[command(long_about = help::SHRINK_ABOUT, after_help = help::shrink())]
    Shrink(ShrinkArguments),
    /// Decide whether a recorded history is linearizable
    #[command(long_about = help::CHECK_ABOUT, after_help = help::check())]
    Check(CheckArguments),
    /// Hunt for the planted flaws, and print which the lanes catch
    #[command(long_about = help::FLAWS_ABOUT, after_help = help::flaws())]
    Flaws(FlawsArguments),
    /// Say which stores can run here, what each needs, and how to get it
    #[command(long_about = help::DOCTOR_ABOUT, after_help = help::doctor())]
    Doctor(DoctorArguments),
    /// Stand between a store in any language and its server, and cut as a Toxiproxy client says
    #[command(long_about = help::PROXY_ABOUT, after_help = help::proxy())]
    Proxy(ProxyArguments),
    /// Rebuild the reports of concurrent runs from their folders, or join shards into one
    #[command(long_about = help::REPORT_ABOUT, after_help = help::report())]
    Report(ReportArguments),
    /// Print what chaos runs did to operations, and what came of it: operation × point × fault
    #[command(long_about = help::MATRIX_ABOUT, after_help = help::matrix())]
    Matrix(MatrixArguments),
    /// Print a completion script for a shell
    #[command(after_help = help::completions())]
    Completions {
        /// The shell that is to complete the command line of stagefault
        shell: Shell,
    },
}

impl Command {
    /// `stagefault run`, as if it were written alone.
    pub fn when_none_is_named() -> Self {
        Cli::parse_from(["stagefault", "run"]).command.expect("it is named")
    }
}

#[derive(Debug, Args)]
pub struct RunArguments {
    /// The store under test
    #[arg(long, value_name = "NAME", default_value_t = StoreName::Sqlite, value_enum)]
    pub store: StoreName,
    /// End after so many operations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub ops: Option<u64>,
    /// End after this time, such as 90s, 10m or 8h [default: 60s, unless --ops is given]
    #[arg(
        long = "for",
        value_name = "DURATION",
        value_parser = parse_duration,
        conflicts_with = "ops"
    )]
    pub duration: Option<Duration>,
    /// What all random choices follow from; the same seed makes the same operations
    /// [default: a random one, which is printed]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// What the schedules are made of [default: balanced; contended for several writers;
    /// chaos with --chaos]
    #[arg(long, value_name = "NAME", value_parser = profile_parser())]
    pub profile: Option<&'static Profile>,
    /// How many writers: 1 for the sequential lane, more for the concurrent one [default: 1; 4
    /// with --chaos]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub writers: Option<u32>,
    /// Break connections, callers and the server while writers work on --store postgres. A
    /// server that --url names is never killed
    #[arg(long)]
    pub chaos: bool,
    /// Plant this bug in the store, to see it caught (needs a build with the cargo feature `flaws`)
    #[arg(long, value_name = "NAME", value_parser = flaw_parser())]
    pub flaw: Option<Flaw>,
    /// The folder for the run's artifacts; it is made, or it is there and empty
    /// [default: stagefault-runs/TIME-SEED]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub concurrent: ConcurrentArguments,
    #[command(flatten)]
    pub postgres: PostgresArguments,
}

/// What only the concurrent lane has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Concurrent lane (--writers 2 or more)")]
pub struct ConcurrentArguments {
    /// Run only this share of the episodes, such as 0/4, the first of four. With one --seed,
    /// the shards of a run need nothing else in common; --for and --ops are each shard's own
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// End after so many failures that are not known [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_failures: Option<u64>,
    /// The failures that are known and do not fail the run: {"format": "stagefault.known/1",
    /// "failures": [{"kind": "order", "invariant": "atomicity", "operation": "Promote"}]}
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,
    /// Go on with the run in this folder, as it was begun, where its journal ends
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with_all = [
            "store", "ops", "duration", "seed", "profile", "writers", "flaw", "out", "shard",
            "max_failures", "known", "chaos",
        ]
    )]
    pub resume: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ProxyArguments {
    /// Where clients of Toxiproxy find it; only addresses of this machine are taken
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8474", value_parser = parse_address)]
    pub listen: SocketAddr,
    /// The proxies to begin with, as Toxiproxy has them:
    /// [{"name": "db", "listen": "127.0.0.1:6543", "upstream": "127.0.0.1:5432"}]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Allow this host as an upstream although it is another machine; once for each
    #[arg(long, value_name = "HOST")]
    pub allow_remote: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Folders of concurrent runs
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// Join them, the shards of one run, into this new folder
    #[arg(long, value_name = "FOLDER")]
    pub merge: Option<PathBuf>,
    /// Print the summaries as JSON, one after another
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MatrixArguments {
    /// Folders of chaos runs; what several did is added up
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// Print the matrix as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// Schedules, or folders of them
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub against: Against,
    #[command(flatten)]
    pub postgres: PostgresArguments,
}

#[derive(Debug, Args)]
pub struct ShrinkArguments {
    /// The schedule
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub against: Against,
    /// Where the shrunk schedule goes [default: NAME.shrunk.json, beside NAME.json]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replay at most so many candidates
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ATTEMPTS)]
    pub attempts: u32,
    #[command(flatten)]
    pub postgres: PostgresArguments,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The history, as lines of JSON
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Give up after this time, such as 90s, 10m or 8h
    #[arg(long = "for", value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub duration: Duration,
    /// Give up when the search needs more than so many MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048,
          value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub memory: u64,
    /// Print the verdict and its explanation as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct FlawsArguments {
    /// The store that they are planted in, once for each [default: all]
    #[arg(long, value_name = "NAME", value_enum)]
    pub store: Vec<StoreName>,
    /// The flaw, once for each [default: all]
    #[arg(long, value_name = "NAME", value_parser = flaw_parser())]
    pub flaw: Vec<Flaw>,
    /// The lane that can show them, once for each; chaos takes minutes [default: sequential and
    /// concurrent, or that of --flaw]
    #[arg(long, value_name = "NAME", value_parser = lane_parser())]
    pub lane: Vec<Lane>,
    /// Give up on a flaw after so many operations
    #[arg(long, value_name = "N", default_value_t = 20_000,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub ops: u64,
    /// Give up on a flaw that only several writers can show after so many episodes
    #[arg(long, value_name = "N", default_value_t = 1_000,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub episodes: u64,
    /// Hunt for each flaw from so many seeds: 1, 2 and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// Print the matrix as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub postgres: PostgresArguments,
}

#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub postgres: PostgresArguments,
}

/// What a schedule is replayed against.
#[derive(Clone, Copy, Debug, Args)]
pub struct Against {
    /// The store under test [default: the one that the schedule comes from, else sqlite]
    #[arg(long, value_name = "NAME", value_enum)]
    pub store: Option<StoreName>,
    /// Plant this bug in the store (needs a build with the cargo feature `flaws`)
    #[arg(long, value_name = "NAME", value_parser = flaw_parser())]
    pub flaw: Option<Flaw>,
}

/// The server of the postgres store.
#[derive(Debug, Args)]
#[command(next_help_heading = "PostgreSQL")]
pub struct PostgresArguments {
    /// Work on this running server, such as postgres://user@localhost:5432, and not on a
    /// throw-away one. A database that it names must be stagefault's own, or not there yet;
    /// if it names none, one is made and removed at the end. Leave the password to PGPASSWORD
    /// or .pgpass [default: the environment variable STAGEFAULT_POSTGRES_URL, if it is set]
    // Not parsed here, for an error would quote it with its password.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Allow this host in the URL although it is another machine; once for each
    #[arg(long, value_name = "HOST")]
    pub allow_remote: Vec<String>,
}

impl RunArguments {
    /// The store and its flaw.
    pub fn choice(&self) -> Choice {
        Choice { store: self.store, flaw: self.flaw, chaos: self.chaos }
    }

    /// How many writers there are.
    pub fn writers(&self) -> u32 {
        self.writers.unwrap_or(if self.chaos { Profile::chaos().writers } else { 1 })
    }

    /// Whether it is a run of the concurrent lane.
    pub fn is_concurrent(&self) -> bool {
        self.writers() > 1 || self.chaos
    }

    /// The profile.
    pub fn profile(&self) -> &'static Profile {
        let usual = match self.writers() {
            _ if self.chaos => Some(Profile::chaos()),
            1 => None,
            _ => Profile::from_name("contended"),
        };
        self.profile.or(usual).unwrap_or(Profile::standard())
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("it must be longer than nothing".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(format!("{error}; write it as in 90s, 10m or 8h")),
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let address = text.replacen("localhost:", "127.0.0.1:", 1).parse();
    address.map_err(|_| "write it as in 127.0.0.1:8474".to_owned())
}

fn profile_parser() -> impl TypedValueParser<Value = &'static Profile> {
    let names = PROFILES.iter().map(|it| PossibleValue::new(it.name).help(it.about));
    PossibleValuesParser::new(names)
        .map(|name| Profile::from_name(&name).expect("it is one of the possible values"))
}

fn lane_parser() -> impl TypedValueParser<Value = Lane> {
    const LANES: [Lane; 3] = [Lane::Sequential, Lane::Concurrent, Lane::Chaos];
    let named = |name: &String| LANES.into_iter().find(|lane| lane.as_str() == name);
    PossibleValuesParser::new(LANES.map(Lane::as_str))
        .map(move |name| named(&name).expect("it is one of the possible values"))
}

fn flaw_parser() -> impl TypedValueParser<Value = Flaw> {
    PossibleValuesParser::new(Flaw::ALL.map(Flaw::name))
        .map(|name| Flaw::from_name(&name).expect("it is one of the possible values"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples_in_its_help() {
        for command in Cli::command().get_subcommands() {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Examples:"), "{}", command.get_name());
        }
    }
}

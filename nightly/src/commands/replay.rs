//! `stagefault replay`: schedules, each on a fresh store, with every check.

use std::fmt;

use stagefault_properties::replay::{self, Held};
use stagefault_properties::violation::{EpisodeError, Violation};

use crate::cli::ReplayArguments;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::report::counted;
use crate::schedules::{self, Found};
use crate::signals::{Signal, Signals};
use crate::stores::Stores;
use crate::{Context, print};

/// What became of one schedule.
pub enum Verdict {
    /// It held.
    Held(Held),
    /// The store broke the contract.
    Violation(Violation),
    /// A signal arrived before it ended.
    Interrupted(Signal),
}

/// Replays all that the arguments name, and prints a line for each.
///
/// # Errors
/// That something named is no schedule, or a store could not be used.
pub async fn replay(
    arguments: &ReplayArguments,
    context: Context<'_>,
) -> Result<Exit, CommandError> {
    let Context { signals, postgres } = context;
    let all = schedules::find(&arguments.paths, arguments.against)?;
    postgres.expect_use(all.iter().map(|found| found.choice.store))?;
    tracing::info!("replaying {} schedules", all.len());
    let mut count = Count { total: all.len(), held: 0, failed: 0, interrupted: signals.received() };
    for found in &all {
        if count.interrupted.is_some() {
            break;
        }
        let stores = Stores::temporary(found.choice, postgres).await?;
        let verdict = replay_one(found, &stores, signals).await;
        stores.remove();
        let text = match verdict? {
            Verdict::Interrupted(signal) => {
                count.interrupted = Some(signal);
                break;
            }
            Verdict::Held(held) => {
                count.held += 1;
                format!("{}{}", line("held", found), caveat(held))
            }
            Verdict::Violation(violation) => {
                count.failed += 1;
                format!("{}\n  {violation}", line("violation", found))
            }
        };
        print::result(text)?;
        count.interrupted = signals.received();
    }
    print::result(&count)?;
    Ok(count.exit())
}

/// Replays one schedule.
///
/// # Errors
/// That the store could not be used.
pub async fn replay_one(
    found: &Found,
    stores: &Stores,
    signals: &Signals,
) -> Result<Verdict, CommandError> {
    let replay = replay::replay(stores.namespaces(), &found.schedule);
    let outcome = tokio::select! {
        biased;
        outcome = replay => outcome,
        signal = signals.out_of_patience() => return Ok(Verdict::Interrupted(signal)),
    };
    match outcome {
        Ok(held) => Ok(Verdict::Held(held)),
        Err(EpisodeError::Violation(violation)) => Ok(Verdict::Violation(*violation)),
        Err(error) => Err(CommandError::Episode { place: found.path.display().to_string(), error }),
    }
}

fn line(verdict: &str, found: &Found) -> String {
    let operations = counted(found.schedule.operations.len() as u64, "operation");
    let flaw = found.choice.flaw.map(|flaw| format!(" with the flaw {flaw}")).unwrap_or_default();
    let (path, store) = (found.path.display(), found.choice.store);
    format!("{verdict:<9}  {path}  ({operations} on {store}{flaw})")
}

/// What is not certain of a schedule that held.
pub fn caveat(held: Held) -> String {
    match held {
        Held::Certainly => String::new(),
        Held::InReplays(replays) => format!(
            "\n  no violation was seen in {replays} replays, which are not all the same: if one \
             was recorded, its history and explanation are what there is of it"
        ),
    }
}

/// How many schedules ended how.
struct Count {
    total: usize,
    held: usize,
    failed: usize,
    interrupted: Option<Signal>,
}

impl Count {
    fn exit(&self) -> Exit {
        match self.interrupted {
            _ if self.failed > 0 => Exit::Violation,
            Some(signal) if self.held < self.total => Exit::Interrupted(signal),
            _ => Exit::Held,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count { total, held, failed, interrupted } = self;
        let schedules = counted(*total as u64, "schedule");
        write!(formatter, "{schedules}: {held} held, {failed} failed")?;
        match interrupted {
            Some(signal) if held + failed < *total => {
                let rest = total - held - failed;
                write!(formatter, ", {rest} not replayed: interrupted by {}", signal.name())
            }
            _ => Ok(()),
        }
    }
}

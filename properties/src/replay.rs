//! Replaying a schedule on the lane that can do all that it says.

use std::time::Duration;

use stagefault_models::{Namespaces, Schedule};

use crate::concurrent::{Judgement, Replayer, judge, within};
use crate::sequential;
use crate::violation::EpisodeError;

/// How often a schedule is replayed whose replays are not all the same.
const REPLAYS: u32 = 10;

/// What it means that no replay was a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Every replay is the same, so the schedule holds on this store.
    Certainly,
    /// Replays are not all the same, and in so many of them nothing was seen.
    InReplays(u32),
}

/// The most that is spent on judging one replay.
const TIME: Duration = Duration::from_secs(60);
const BYTES: usize = 1 << 30;

/// Replays a schedule on fresh namespaces, with every check; several times if it overlaps
/// its operations in a way that is not certain to be the same each time.
///
/// # Errors
/// The violation, that the checker did not decide, or that the store could not be used.
pub async fn replay<N: Namespaces>(
    namespaces: &N,
    schedule: &Schedule,
) -> Result<Held, EpisodeError> {
    if !schedule.is_concurrent() {
        sequential::replay(namespaces.fresh().await?, schedule).await?;
        return Ok(Held::Certainly);
    }
    let mut replayer = Replayer::new(namespaces);
    let mut held = Held::InReplays(REPLAYS);
    for _ in 0..REPLAYS {
        let episode = replayer.replay(schedule).await?;
        match judge(&episode, within(TIME, BYTES)) {
            Judgement::Holds { .. } if episode.is_certain => {
                held = Held::Certainly;
                break;
            }
            Judgement::Holds { .. } => {}
            Judgement::Violation(violation) => return Err(EpisodeError::Violation(violation)),
            Judgement::Undecided(why) => return Err(EpisodeError::Undecided(why)),
        }
    }
    replayer.close().await?;
    Ok(held)
}

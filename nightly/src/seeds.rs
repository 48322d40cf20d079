//! From a run's seed to the seeds of its episodes.

use rand::TryRng;
use rand::rngs::{SysError, SysRng};

/// A seed for a run that was given none.
///
/// Of 53 bits, so that every reader of JSON has it exactly.
///
/// # Errors
/// The system's, when it has no randomness.
pub fn random() -> Result<u64, SysError> {
    Ok(SysRng.try_next_u64()? >> 11)
}

/// The seed of an episode: `mix(mix(run) + episode × golden)`, where `mix` and `golden`
/// are SplitMix64's.
///
/// An episode's seed depends on nothing but the two numbers, so that any episode can be
/// run alone, and shards of a run need no coordination. The run's seed is mixed too:
/// otherwise the episodes of neighbouring seeds would be the same ones, shifted.
pub fn of_episode(run: u64, episode: u64) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    mix(mix(run).wrapping_add(episode.wrapping_mul(GOLDEN)))
}

/// SplitMix64's finalizer: every bit of the input moves half of the output's.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_seed_of_an_episode_stays_what_it_is() {
        // A run is repeated by its seed, also by a later build.
        assert_eq!(of_episode(0, 1), 0xe220_a839_7b1d_cdaf, "SplitMix64's first output");
        assert_eq!(of_episode(1, 0), of_episode(1, 0));
    }

    #[test]
    fn episodes_of_neighbouring_seeds_have_nothing_in_common() {
        let seeds = (0..100).flat_map(|run| (0..100).map(move |episode| of_episode(run, episode)));
        assert_eq!(seeds.collect::<BTreeSet<_>>().len(), 100 * 100);
    }
}

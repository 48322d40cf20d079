//! Which episodes of a run are this process's: `--shard 2/8` takes 2, 10, 18 and so on.
//!
//! An episode's seed follows from the run's seed and the episode's number alone, so shards
//! need no coordination, and together they run what one process would.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of so many shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Counted from 0.
    pub index: u64,
    pub count: u64,
}

impl Shard {
    /// A run that is not split.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// The number of the shard's n-th episode.
    pub fn episode(self, nth: u64) -> u64 {
        self.index + nth * self.count
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').map(|(index, count)| (index.parse(), count.parse()));
        let Some((Ok(index), Ok(count))) = numbers else {
            return Err("write it as in 0/4, the first of four".to_owned());
        };
        match count {
            0 => Err("there is at least one shard".to_owned()),
            _ if index < count => Ok(Shard { index, count }),
            _ => {
                let last = count - 1;
                Err(format!("shards are counted from 0: from 0/{count} to {last}/{count}"))
            }
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_shards_of_a_run_share_its_episodes() {
        let shards = (0..3).map(|index| Shard { index, count: 3 });
        let all: Vec<u64> =
            shards.flat_map(|shard| (0..4).map(move |n| shard.episode(n))).collect();
        assert_eq!(BTreeSet::from_iter(all.iter().copied()), (0..12).collect());
        assert_eq!(all.len(), 12);
    }

    #[test]
    fn a_shard_that_there_is_not_is_refused() {
        assert_eq!("3/4".parse(), Ok(Shard { index: 3, count: 4 }));
        for text in ["4/4", "0/0", "1", "a/4", "-1/4", "1/", "1/2/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}

//! The configurations that a search has been at.

use hashbrown::HashTable;

/// Configurations: how many returns are passed, the state, which open operations are
/// placed, and which unknown ones are used up.
///
/// Whoever comes to the same place having used up at least the same unknown operations can
/// do nothing from there that could not be done before, so only the fewest are kept.
pub(super) struct Seen {
    /// The first configuration of each place.
    first: HashTable<u32>,
    /// The next configuration of the same place, or itself.
    next: Vec<u32>,
    /// For each configuration its words: first those of the place.
    words: Vec<u64>,
    place_words: usize,
    stride: usize,
}

impl Seen {
    /// Of configurations with so many words, the first of them the place's.
    pub fn new(place_words: usize, stride: usize) -> Self {
        let (first, next, words) = (HashTable::new(), Vec::new(), Vec::new());
        Seen { first, next, words, place_words, stride }
    }

    /// Keeps the configuration; false when one as good was there.
    pub fn insert(&mut self, configuration: &[u64]) -> bool {
        let (place, unknown) = configuration.split_at(self.place_words);
        let number = self.next.len() as u32;
        let hash = hash(place);
        let first = self.first.find(hash, |number| self.place(*number) == place).copied();
        let Some(mut at) = first else {
            let (words, stride, count) = (&self.words, self.stride, self.place_words);
            self.first.insert_unique(hash, number, |number| {
                let start = *number as usize * stride;
                self::hash(&words[start..start + count])
            });
            self.push(number, configuration);
            return true;
        };
        loop {
            let start = at as usize * self.stride;
            let known = &mut self.words[start + self.place_words..start + self.stride];
            if is_subset(known, unknown) {
                return false;
            }
            if is_subset(unknown, known) {
                known.copy_from_slice(unknown);
                return true;
            }
            match self.next[at as usize] {
                next if next == at => break,
                next => at = next,
            }
        }
        self.next[at as usize] = number;
        self.push(number, configuration);
        true
    }

    fn push(&mut self, number: u32, configuration: &[u64]) {
        self.next.push(number);
        self.words.extend_from_slice(configuration);
    }

    fn place(&self, number: u32) -> &[u64] {
        let start = number as usize * self.stride;
        &self.words[start..start + self.place_words]
    }

    /// The memory of the configurations, in bytes.
    pub fn bytes(&self) -> usize {
        (self.words.capacity()) * size_of::<u64>()
            + self.next.capacity() * 4
            + self.first.capacity() * 5
    }
}

fn is_subset(smaller: &[u64], larger: &[u64]) -> bool {
    smaller.iter().zip(larger).all(|(smaller, larger)| smaller & !larger == 0)
}

/// Multiply and fold: the words are counters and bits, and only need to be spread.
fn hash(words: &[u64]) -> u64 {
    words.iter().fold(0x243f_6a88_85a3_08d3, |hash, word| {
        let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
        (product as u64) ^ ((product >> 64) as u64)
    })
}

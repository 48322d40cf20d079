//! Where the generator's choices come from.
//!
//! One generator serves all lanes: it asks a [`Choices`] for small numbers, and does not
//! know whether a seeded random number generator, proptest's, or a fuzzer's bytes answer.

/// A source of choices.
pub trait Choices {
    /// A number from 0 to `bound` − 1; `bound` is at least 1.
    fn below(&mut self, bound: u32) -> u32;

    /// Any number.
    fn word(&mut self) -> u64;

    /// True `share` times out of `whole`.
    fn chance(&mut self, share: u32, whole: u32) -> bool {
        self.below(whole) < share
    }

    /// One of the items, of which there is at least one.
    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u32) as usize]
    }
}

impl<R: rand::Rng + ?Sized> Choices for R {
    fn below(&mut self, bound: u32) -> u32 {
        // Multiply and shift: without the rejection step, large bounds are a little
        // uneven, which is nothing to a fuzzer and saves it a division.
        ((u64::from(self.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    fn word(&mut self) -> u64 {
        self.next_u64()
    }
}

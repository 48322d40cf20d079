//! The order in which runs of a list are tried: from half of it down to single places, and
//! from the back, for what is late depends on what is early.

use std::ops::Range;

/// Runs of a list that may get shorter from one to the next.
pub(super) struct Runs {
    length: usize,
    /// Where the next run ends; `None`: at the end of the list.
    end: Option<usize>,
}

impl Runs {
    /// Those of a list of so many places.
    pub(super) fn of(count: usize) -> Self {
        Runs { length: count.div_ceil(2), end: None }
    }

    /// The next run, now that the list has so many places.
    pub(super) fn next(&mut self, count: usize) -> Option<Range<usize>> {
        while self.length > 0 {
            let end = self.end.unwrap_or(count).min(count);
            if end > 0 {
                let start = end.saturating_sub(self.length);
                self.end = Some(start);
                return Some(start..end);
            }
            self.length /= 2;
            self.end = None;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_come_before_single_places_and_the_back_before_the_front() {
        let mut runs = Runs::of(4);
        let all: Vec<_> = std::iter::from_fn(|| runs.next(4)).collect();
        assert_eq!(all, [2..4, 0..2, 3..4, 2..3, 1..2, 0..1]);
    }

    #[test]
    fn a_list_that_gets_shorter_is_tried_to_its_new_end() {
        let mut runs = Runs::of(5);
        assert_eq!(runs.next(5), Some(2..5));
        assert_eq!(runs.next(1), Some(0..1));
        assert_eq!(runs.next(1), Some(0..1));
        assert_eq!(runs.next(0), None);
        assert_eq!(Runs::of(0).next(0), None);
    }
}

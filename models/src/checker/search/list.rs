//! The list from which operations are taken.

/// Numbers in an order, out of which any can be taken and put back, last out first in.
pub(super) struct List {
    /// Of each number, and of the end, the one before and the one after.
    links: Vec<(u32, u32)>,
}

impl List {
    /// The numbers from 0 on, each once, in this order.
    pub fn of(order: impl ExactSizeIterator<Item = u32>) -> Self {
        let end = order.len() as u32;
        let mut links = vec![(end, end); order.len() + 1];
        let mut last = end;
        for number in order {
            links[last as usize].1 = number;
            links[number as usize] = (last, end);
            last = number;
        }
        links[end as usize].0 = last;
        List { links }
    }

    /// One past the last number: what is before the first and after the last.
    pub fn end(&self) -> u32 {
        self.links.len() as u32 - 1
    }

    pub fn first(&self) -> u32 {
        self.after(self.end())
    }

    pub fn after(&self, number: u32) -> u32 {
        self.links[number as usize].1
    }

    /// The numbers that are left.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let number = |number: u32| (number != self.end()).then_some(number);
        std::iter::successors(number(self.first()), move |last| number(self.after(*last)))
    }

    /// Takes the number out; [`Self::after`] it is still what comes next.
    pub fn unlink(&mut self, number: u32) {
        let (before, after) = self.links[number as usize];
        self.links[before as usize].1 = after;
        self.links[after as usize].0 = before;
    }

    pub fn relink(&mut self, number: u32) {
        let (before, after) = self.links[number as usize];
        self.links[before as usize].1 = number;
        self.links[after as usize].0 = number;
    }

    pub fn bytes(&self) -> usize {
        self.links.capacity() * size_of::<(u32, u32)>()
    }
}

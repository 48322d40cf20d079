//! Which parts of a state an operation has to do with.

/// Parts of a state, a bit each: those that an operation reads, and those that it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// The parts on which depends whether it fits, and what it makes of those that it writes.
    pub reads: u64,
    /// The parts that it may change.
    pub writes: u64,
}

impl Footprint {
    /// All parts, read and written: what meets everything.
    pub const ALL: Footprint = Footprint { reads: u64::MAX, writes: u64::MAX };

    /// Whether one writes what the other reads or writes. Else their order is no matter.
    pub fn meets(self, other: Footprint) -> bool {
        self.writes & (other.reads | other.writes) | self.reads & other.writes != 0
    }

    /// The parts of both.
    pub fn and(self, other: Footprint) -> Footprint {
        Footprint { reads: self.reads | other.reads, writes: self.writes | other.writes }
    }
}

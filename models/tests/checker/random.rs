//! Random concurrent runs, simulated: what really happened is known.

/// How many histories each comparison draws: more where the variable says so.
pub fn histories() -> u64 {
    let variable = "STAGEFAULT_CHECKER_HISTORIES";
    match std::env::var(variable) {
        Ok(count) => count.parse().unwrap_or_else(|_| panic!("{variable} is no number: {count}")),
        Err(_) => 2000,
    }
}

/// Splitmix64: the same histories in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

/// An operation of a run.
pub struct Simulated<O, A> {
    pub operation: O,
    pub writer: u32,
    pub called: u64,
    pub returned: Option<(u64, Ended<A>)>,
}

/// An operation, when it was called, and when it came back with which answer, if it did.
pub type Witnessed<O, A> = (O, u64, Option<(u64, A)>);

impl<O, A> Simulated<O, A> {
    /// What a history holds of it; `None`: nothing, for it certainly never took effect.
    pub fn witnessed(self) -> Option<Witnessed<O, A>> {
        let returned = match self.returned {
            Some((_, Ended::NotApplied)) => return None,
            Some((at, Ended::Answered(answer))) => Some((at, answer)),
            Some((_, Ended::Unknown)) | None => None,
        };
        Some((self.operation, self.called, returned))
    }
}

/// How an operation came back.
pub enum Ended<A> {
    Answered(A),
    NotApplied,
    Unknown,
}

enum Open<A> {
    Waiting,
    Applied(A),
}

/// Runs so many operations of some writers. `apply` makes each happen, at one moment or never.
pub fn simulate<O, A>(
    random: &mut Random,
    writers: u32,
    operations: usize,
    mut ask: impl FnMut(&mut Random) -> O,
    mut apply: impl FnMut(&mut Random, &O) -> A,
) -> Vec<Simulated<O, A>> {
    let mut run: Vec<Simulated<O, A>> = Vec::new();
    let mut open: Vec<Option<(usize, Open<A>)>> = (0..writers).map(|_| None).collect();
    let mut late: Vec<usize> = Vec::new();
    let mut clock = 0;
    while run.len() < operations || (open.iter().any(Option::is_some) && !random.one_in(12)) {
        clock += 1;
        if !late.is_empty() && random.one_in(4) {
            // What nobody waits for any more happens all the same, or never.
            let place = late.swap_remove(random.below(late.len() as u64) as usize);
            if random.one_in(2) {
                apply(random, &run[place].operation);
            }
        }
        let writer = random.below(u64::from(writers)) as usize;
        open[writer] = match open[writer].take() {
            None if run.len() >= operations => None,
            None => {
                let operation = ask(random);
                let writer = writer as u32;
                run.push(Simulated { operation, writer, called: clock, returned: None });
                Some((run.len() - 1, Open::Waiting))
            }
            Some((place, Open::Waiting)) if random.one_in(9) => {
                let ended = if random.one_in(3) {
                    Ended::NotApplied
                } else {
                    late.push(place);
                    Ended::Unknown
                };
                run[place].returned = Some((clock, ended));
                None
            }
            Some((place, Open::Waiting)) => {
                let answer = apply(random, &run[place].operation);
                Some((place, Open::Applied(answer)))
            }
            Some((place, Open::Applied(_))) if random.one_in(20) => {
                run[place].returned = Some((clock, Ended::Unknown));
                None
            }
            Some((place, Open::Applied(answer))) => {
                run[place].returned = Some((clock, Ended::Answered(answer)));
                None
            }
        };
    }
    run
}

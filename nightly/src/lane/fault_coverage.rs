//! What a chaos run must have seen to mean anything: each fault that was planned often has
//! fired, and has ended in each way that it can.
//!
//! It is scaled to the run: what was planned seldom has no floor yet.

use std::collections::BTreeMap;
use std::fmt;

use stagefault_chaos::torment::Available;
use stagefault_chaos::torment::available::Applied;
use stagefault_models::{FaultKind, OperationKind, Point};
use stagefault_properties::concurrent::{Counts, Tallies};

/// A fault that was planned so often has a floor: it must have fired, and each end that it can
/// have must have been seen.
pub const OFTEN_ENOUGH: u64 = 100;

/// A run that planned so many faults must have planned each that can be done.
pub const MANY_FAULTS: u64 = 20_000;

/// A point, where all statements are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(Point);

impl Place {
    pub fn of(point: Point) -> Self {
        Place(if let Point::Statement(_) = point { Point::Statement(0) } else { point })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Point::Statement(_) => formatter.pad("Statement"),
            point => formatter.pad(&format!("{point:?}")),
        }
    }
}

/// What was counted of each fault at each place, of all operations together.
pub fn by_place(tallies: &Tallies) -> BTreeMap<(Place, FaultKind), Counts> {
    let mut counts = BTreeMap::<_, Counts>::new();
    for (tried, more) in tallies.fired.iter() {
        counts.entry((Place::of(tried.point), tried.kind)).or_default().add(&more);
    }
    counts
}

/// What never came of the faults that can be done, though they were planned often enough.
pub fn missing(available: Available, tallies: &Tallies) -> Vec<String> {
    let counted = by_place(tallies);
    let planned = tallies.fired.total().attempted;
    let mut ends = BTreeMap::<_, [bool; 2]>::new();
    for possible in available.all() {
        let place = (Place::of(possible.point), possible.kind);
        let ends = ends.entry(place).or_default();
        // Of a read in doubt nobody can tell whether it was carried out.
        let reads = [OperationKind::Load, OperationKind::ReadMessages];
        if reads.contains(&possible.operation) && possible.outcome.unknown {
            continue;
        }
        let never_applied = possible.outcome.applied == Applied::Never;
        ends[usize::from(never_applied)] = true;
    }
    let mut missing = Vec::new();
    for ((place, kind), [applies, fails]) in ends {
        let counts = counted.get(&(place, kind)).copied().unwrap_or_default();
        let wanted = [
            (planned >= MANY_FAULTS && counts.attempted == 0, "planned"),
            (counts.attempted >= OFTEN_ENOUGH && counts.fired == 0, "fired"),
            (applies && counts.fired >= OFTEN_ENOUGH && counts.applied() == 0, "applied"),
            (fails && counts.fired >= OFTEN_ENOUGH && counts.without_effect() == 0, "not applied"),
        ];
        let never = wanted.iter().filter(|(is_missing, _)| *is_missing);
        missing.extend(never.map(|(_, what)| format!("{kind:?} at {place} {what}")));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is missing when a promote's commit was cut before delivery as often as it says here.
    fn cut(counts: &str) -> Vec<String> {
        met(r#""operation":"Promote","point":"CommitSent","kind":"Reset""#, counts)
    }

    /// What is missing when an operation met a fault as often as it says here.
    fn met(fault: &str, counts: &str) -> Vec<String> {
        let text = format!(
            r#"{{"completions":{{}},"faults":{{"not_applied":0,"unknown_before":0,"unknown_after":0,"unknown_late":0}},
                "fired":[{{{fault},{counts}}}],"latencies":{{}}}}"#
        );
        let tallies: Tallies = serde_json::from_str(&text).expect("they are tallies");
        missing(Available { server: true, connection: true }, &tallies)
    }

    #[test]
    fn a_fault_that_was_planned_often_must_have_fired_and_ended_as_it_can() {
        let fired = cut(r#""attempted":100,"fired":0"#);
        assert_eq!(fired, ["Reset at CommitSent fired"]);
        // Never delivered, it is never applied.
        let ended = cut(r#""attempted":200,"fired":100,"unknown_applied":100"#);
        assert_eq!(ended, ["Reset at CommitSent not applied"]);
        let enough = cut(r#""attempted":200,"fired":100,"unknown_not_applied":1"#);
        assert_eq!(enough, [""; 0]);
        assert_eq!(cut(r#""attempted":99,"fired":0"#), [""; 0]);
    }

    #[test]
    fn a_read_whose_caller_went_need_not_have_been_carried_out() {
        let fault = r#""operation":"Load","point":{"Statement":1},"kind":"CallerGone""#;
        let missing = met(fault, r#""attempted":200,"fired":100,"unknown_not_applied":100"#);
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn a_run_of_many_faults_must_have_planned_each() {
        let missing = cut(r#""attempted":20000,"fired":20000,"unknown_not_applied":1"#);
        assert!(missing.contains(&"ServerKill at BeforeCommit planned".to_owned()));
        assert!(missing.iter().all(|fault| fault.ends_with(" planned")), "{missing:?}");
    }
}

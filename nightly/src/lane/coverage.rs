//! What a run must have seen to mean anything: each operation that its profile has was done,
//! each refusal that the contract has for it was met, each kind of fault fired.
//!
//! A run that is long enough and did not see all that is broken itself: its generator, its
//! profile or its store leaves something out. A short run proves little anyhow, and is let be.

use serde::{Deserialize, Serialize};
use stagefault_chaos::torment::Available;
use stagefault_models::{CompletionKind, OperationKind};
use stagefault_properties::concurrent::Tallies;
use stagefault_properties::profile::Profile;

use super::fault_coverage;

/// A run of this many operations has a floor.
pub const LONG_ENOUGH: u64 = 200_000;

/// What was never seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub completions: Vec<(OperationKind, CompletionKind)>,
    pub faults: Vec<String>,
    /// Of the faults that are done for real, what never came of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub real_faults: Vec<String>,
}

impl Missing {
    /// What a run of this profile did not see, though it was long enough.
    pub fn of(profile: &Profile, available: Option<Available>, tallies: &Tallies) -> Self {
        let real_faults = available.map(|available| fault_coverage::missing(available, tallies));
        let real_faults = real_faults.unwrap_or_default();
        if tallies.completions.total() < LONG_ENOUGH {
            return Missing { real_faults, ..Missing::default() };
        }
        let unseen = |(operation, completion): &(OperationKind, CompletionKind)| {
            tallies.completions.of(*operation, *completion) == 0
        };
        let unfired = tallies.faults.iter().filter(|(_, count)| profile.faults > 0 && *count == 0);
        Missing {
            completions: floor(profile).filter(unseen).collect(),
            faults: unfired.map(|(name, _)| name.to_owned()).collect(),
            real_faults,
        }
    }

    /// Whether everything was seen.
    pub fn is_empty(&self) -> bool {
        self.completions.is_empty() && self.faults.is_empty() && self.real_faults.is_empty()
    }

    /// What is missing, a line for each.
    pub fn lines(&self) -> Vec<String> {
        let pairs =
            self.completions.iter().map(|(it, completion)| format!("{it:?} {completion:?}"));
        let faults = self.faults.iter().chain(&self.real_faults);
        pairs.chain(faults.map(|fault| format!("fault {fault}"))).collect()
    }
}

/// The pairs that a run of this profile must meet.
pub fn floor(profile: &Profile) -> impl Iterator<Item = (OperationKind, CompletionKind)> {
    let has = |operation: OperationKind| profile.weights[operation as usize] > 0;
    // What only one profile in ten provokes is no floor for the others.
    let everything = OperationKind::ALL.into_iter().all(has) && profile.faults > 0;
    OperationKind::ALL.into_iter().filter(move |operation| has(*operation)).flat_map(
        move |operation| {
            let refusals = if everything { refusals(operation) } else { &[] };
            let all = [CompletionKind::Done].into_iter().chain(refusals.iter().copied());
            all.map(move |completion| (operation, completion))
        },
    )
}

/// The refusals that the contract has for an operation, and that writers who collide meet.
#[rustfmt::skip]
fn refusals(operation: OperationKind) -> &'static [CompletionKind] {
    use CompletionKind::*;
    match operation {
        OperationKind::CreateSession => &[SessionExists],
        OperationKind::DeleteSession
        | OperationKind::Load
        | OperationKind::ReadMessages
        | OperationKind::Touch
        | OperationKind::Discard
        | OperationKind::BeginRun
        | OperationKind::RequestInterrupt
        | OperationKind::ConsumeInterrupt => &[SessionNotFound],
        OperationKind::Stage => &[SessionNotFound, StepClosed],
        OperationKind::Promote => &[SessionNotFound, StepClosed, StaleState, MessageConflict, MergeConflict],
        OperationKind::AppendMessages => &[SessionNotFound, MessageConflict],
        OperationKind::CompareAndSetStatus => &[SessionNotFound, StatusMismatch],
        OperationKind::RegisterCall => &[SessionNotFound, CallConflict],
        OperationKind::SubmitResult => &[SessionNotFound, UnknownCall, RunFenced, CallResolved, CallExpired],
        OperationKind::ExpireCalls | OperationKind::Cleanup => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contended(completions: &str) -> Missing {
        let text = format!(
            r#"{{"completions":{{{completions}}},"faults":{{"not_applied":1,"unknown_before":0,"unknown_after":1,"unknown_late":1}},"latencies":{{}}}}"#
        );
        let tallies: Tallies = serde_json::from_str(&text).expect("they are tallies");
        Missing::of(Profile::from_name("contended").expect("it is one"), None, &tallies)
    }

    #[test]
    fn a_long_run_that_never_saw_something_says_what() {
        let missing = contended(r#""Touch":{"Done":200000}"#).lines();
        assert!(missing.contains(&"Touch SessionNotFound".to_owned()), "{missing:?}");
        assert!(missing.contains(&"Promote StaleState".to_owned()), "{missing:?}");
        assert!(missing.contains(&"fault unknown_before".to_owned()), "{missing:?}");
        assert!(!missing.contains(&"Touch Done".to_owned()), "{missing:?}");
        assert_eq!(
            missing.len(),
            floor(Profile::from_name("contended").expect("it is one")).count()
        );
    }

    #[test]
    fn a_short_run_has_no_floor() {
        assert!(contended(r#""Touch":{"Done":199999}"#).is_empty());
    }

    #[test]
    fn a_profile_has_to_see_only_what_it_has_weight_for() {
        let promotes = Profile::from_name("promotes").expect("it is one");
        let floor: Vec<_> = floor(promotes).collect();
        assert!(floor.contains(&(OperationKind::Promote, CompletionKind::Done)));
        assert!(floor.iter().all(|(operation, _)| *operation != OperationKind::SubmitResult));
    }
}

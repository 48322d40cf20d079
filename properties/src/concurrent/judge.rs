//! Judging an episode: is there an order of its operations that explains every answer, and
//! are the rows what was read?
//!
//! It needs nothing but what was recorded, so it can be done later, or on another thread.
//! What no order explains is given the name of the invariant that it breaks.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use stagefault_chaos::torment::Available;
use stagefault_chaos::torment::available::Applied;
use stagefault_models::audit::Finding;
use stagefault_models::checker::sessions::Explanation;
use stagefault_models::checker::{Spent, Verdict, check_history};
use stagefault_models::{
    Completion, Fault, FaultKind, History, Invariant, Operation, OperationKind, Point, Receipt,
    Refusal, Reply, Returned, Snapshot,
};

use super::{End, Episode, Stopped};
use crate::violation::Violation;

/// What an episode is found to be.
#[derive(Clone, Debug)]
pub enum Judgement {
    /// It holds.
    Holds {
        /// The operations in doubt that the order found takes to have happened, by their
        /// places in the history.
        happened: BTreeSet<usize>,
    },
    /// The store broke the contract.
    Violation(Box<Violation>),
    /// Neither was found, for this reason: the budget was used up, or a writer was told what
    /// the receipt of its fault excludes.
    Undecided(String),
}

impl Judgement {
    /// The violation, if it is one.
    pub fn violation(self) -> Option<Violation> {
        match self {
            Judgement::Violation(violation) => Some(*violation),
            Judgement::Holds { .. } | Judgement::Undecided(_) => None,
        }
    }
}

/// A budget for [`judge`]: so much time, and about so many bytes.
pub fn within(time: Duration, bytes: usize) -> impl FnMut(&Spent) -> ControlFlow<String> {
    let started = Instant::now();
    move |spent| match spent {
        spent if spent.bytes > bytes => {
            ControlFlow::Break(format!("it took more than {bytes} bytes of memory"))
        }
        _ if started.elapsed() > time => ControlFlow::Break(format!("it took more than {time:?}")),
        _ => ControlFlow::Continue(()),
    }
}

/// Judges an episode within a budget.
pub fn judge(episode: &Episode, budget: impl FnMut(&Spent) -> ControlFlow<String>) -> Judgement {
    let aftermath = match &episode.end {
        End::Whole(aftermath) => aftermath,
        End::Stopped(index, stopped) => return violation(no_answer(episode, *index, stopped)),
    };
    if let Some(found) = untrue(episode) {
        return violation(found);
    }
    let history = with_receipts(episode);
    let order = match check_history(&history, budget) {
        Verdict::Linearizable { happened } => Ok(happened),
        Verdict::Violation(found) => {
            let explanation = Explanation { history: &history, violation: &found };
            let explanation = explanation.to_string().lines().map(str::to_owned).collect();
            return violation(without_order(episode, found.stuck, &found.expected, explanation));
        }
        Verdict::Undecided(undecided) => Err(undecided.why),
    };
    if !aftermath.left_behind.is_empty() {
        return violation(left_behind(&aftermath.left_behind));
    }
    // What is read and what the rows are can be held against each other in any case.
    match (aftermath.findings(&episode.history), order) {
        (findings, Ok(happened)) if findings.is_empty() => match contradicted(episode) {
            Some(why) => Judgement::Undecided(why),
            None => Judgement::Holds { happened },
        },
        (findings, Err(why)) if findings.is_empty() => Judgement::Undecided(why),
        (findings, _) => violation(wrong_rows(&findings)),
    }
}

/// What was left on the server.
fn left_behind(findings: &[Finding]) -> Violation {
    let explain = |finding: &Finding| format!("left behind: {}", finding.text);
    Violation { explanation: findings.iter().map(explain).collect(), ..wrong_rows(findings) }
}

fn violation(violation: Violation) -> Judgement {
    Judgement::Violation(Box::new(violation))
}

fn no_answer(episode: &Episode, index: usize, stopped: &Stopped) -> Violation {
    let operation = &episode.history.operations[index].operation;
    let what = match stopped {
        Stopped::Hung => "did not answer by its deadline, nor long after".to_owned(),
        Stopped::Panicked(text) => format!("panicked: {text}"),
        Stopped::Failed(failure) => format!("did not work when no more faults came: {failure}"),
    };
    Violation {
        invariant: Invariant::Liveness,
        index: place(episode, index),
        operation: Some(operation.kind()),
        explanation: vec![format!("the store {what}"), format!("{operation:?}")],
    }
}

/// What a writer was told against the receipt of its fault.
fn untrue(episode: &Episode) -> Option<Violation> {
    let operations = episode.history.operations.iter().zip(&episode.receipts);
    for (index, (recorded, receipt)) in operations.enumerate() {
        let Some(Receipt { fault: Fault::At { point, kind }, applied }) = receipt else {
            continue;
        };
        let Some(returned) = &recorded.returned else { continue };
        let can_apply = can_apply(recorded.operation.kind(), *point, *kind);
        let Some(applied) = applied.or((!can_apply).then_some(false)) else { continue };
        let what = match (&returned.completion, applied) {
            (Completion::Done(_), false) if is_of_the_commit(*point) && ends(*kind) => {
                "was not applied"
            }
            (Completion::NotApplied(_), true) => "was applied",
            _ => continue,
        };
        let explanation = vec![
            format!("the operation {what}, says the receipt of its fault ({kind:?} at {point:?})"),
            format!("{:?}", recorded.operation),
            format!("seen: {:?}", returned.completion),
        ];
        let (index, operation) = (place(episode, index), Some(recorded.operation.kind()));
        return Some(Violation { invariant: Invariant::Truth, index, operation, explanation });
    }
    None
}

/// An answer that never reached its writer, says a receipt, and that the writer has all the
/// same. It may even be true: but either the receipt belongs to something else, or the store
/// says what it cannot know, or has executed an operation in doubt again.
fn contradicted(episode: &Episode) -> Option<String> {
    let operations = episode.history.operations.iter().zip(&episode.receipts);
    for (recorded, receipt) in operations {
        let Some(Receipt { fault: Fault::At { point, kind }, .. }) = receipt else { continue };
        let completion = recorded.returned.as_ref().map(|returned| &returned.completion);
        let answered =
            completion.filter(|it| matches!(it, Completion::Done(_) | Completion::Refused(_)));
        if let Some(completion) = answered.filter(|_| is_of_the_commit(*point) && ends(*kind)) {
            return Some(format!(
                "the answer was cut off, says the receipt of the fault ({kind:?} at {point:?}), \
                 and yet there is one, so that one of them is wrong: {:?}, seen: {completion:?}",
                recorded.operation
            ));
        }
    }
    None
}

/// Whether anything of an operation that met this fault may be applied, as far as it is known
/// what comes of it.
fn can_apply(operation: OperationKind, point: Point, kind: FaultKind) -> bool {
    let everything = Available { server: true, connection: true };
    let outcome = everything.outcome(operation, point, kind);
    outcome.is_none_or(|outcome| outcome.applied != Applied::Never)
}

/// Whether an operation that got there had something to commit.
fn is_of_the_commit(point: Point) -> bool {
    matches!(point, Point::CommitSent | Point::CommitDelivered | Point::MidReply)
}

/// Whether an operation that met the fault can do nothing more: its connection or its caller
/// is gone. After any other one it may go round again, and then the receipt is only about the
/// first time.
fn ends(kind: FaultKind) -> bool {
    use FaultKind::{
        BlackHole, CallerGone, Close, Reset, ServerKill, ServerStop, Terminate, Truncate,
    };
    matches!(
        kind,
        Terminate | CallerGone | Reset | Close | BlackHole | Truncate | ServerKill | ServerStop
    )
}

/// The history, in which what was in doubt and certainly had no effect is told so.
fn with_receipts(episode: &Episode) -> Cow<'_, History> {
    let mut history = Cow::Borrowed(&episode.history);
    for (index, receipt) in episode.receipts.iter().enumerate() {
        // What is only said to have failed is left in doubt, to try the checker.
        let Some(Receipt { fault: Fault::At { kind, .. }, applied: Some(false) }) = receipt else {
            continue;
        };
        if !ends(*kind) {
            continue;
        }
        let returned = &episode.history.operations[index].returned;
        if let Some(Returned { at, completion: Completion::Unknown(failure) }) = returned {
            let completion = Completion::NotApplied(failure.clone());
            history.to_mut().operations[index].returned = Some(Returned { at: *at, completion });
        }
    }
    history
}

/// The place in the schedule; what is read and deleted at the end has none.
fn place(episode: &Episode, index: usize) -> Option<usize> {
    (index < episode.schedule.operations.len()).then_some(index)
}

fn without_order(
    episode: &Episode,
    stuck: usize,
    expected: &Completion,
    explanation: Vec<String>,
) -> Violation {
    let recorded = &episode.history.operations[stuck];
    let seen = recorded.returned.as_ref().map(|returned| &returned.completion);
    let invariant =
        seen.map_or(Invariant::Truth, |seen| broken(&recorded.operation, expected, seen));
    let index = place(episode, stuck);
    let operation = Some(recorded.operation.kind());
    Violation { invariant, index, operation, explanation }
}

fn wrong_rows(findings: &[Finding]) -> Violation {
    Violation {
        invariant: findings.first().map_or(Invariant::Liveness, |finding| finding.invariant),
        index: None,
        operation: None,
        explanation: findings.iter().map(Finding::to_string).collect(),
    }
}

/// The invariant that an answer breaks which no order explains: by the part of it that is not
/// what the model would answer, and else by what the operation is about.
fn broken(operation: &Operation, expected: &Completion, seen: &Completion) -> Invariant {
    use Completion::{Done, Refused};
    match (expected, seen) {
        (Done(Reply::Snapshot(expected)), Done(Reply::Snapshot(seen))) => shown(expected, seen),
        (Refused(Refusal::StaleState { .. } | Refusal::StatusMismatch { .. }), Done(_))
        | (Done(_), Refused(Refusal::StaleState { .. })) => Invariant::VersionMonotonicity,
        (
            Done(Reply::Promoted { version, applied, .. }),
            Done(Reply::Promoted { version: v, applied: a, .. }),
        ) if version != v || applied != a => {
            if version == v {
                Invariant::StagingCleanup
            } else {
                Invariant::VersionMonotonicity
            }
        }
        (Done(Reply::Promoted { .. }), Done(Reply::Promoted { .. })) => {
            Invariant::AppendIdempotency
        }
        (Refused(Refusal::MessageConflict { .. }), _)
        | (_, Refused(Refusal::MessageConflict { .. })) => Invariant::AppendIdempotency,
        (Refused(Refusal::StepClosed), _) | (_, Refused(Refusal::StepClosed)) => {
            Invariant::StagingCleanup
        }
        (
            Done(Reply::Cleaned { sessions: expected, .. }),
            Done(Reply::Cleaned { sessions: seen, .. }),
        ) if expected == seen => Invariant::StagingCleanup,
        _ => about(operation.kind()),
    }
}

/// The invariant behind the first part of a session that is not as it should be.
fn shown(expected: &Snapshot, seen: &Snapshot) -> Invariant {
    if expected.version != seen.version {
        Invariant::VersionMonotonicity
    } else if expected.message_count != seen.message_count {
        Invariant::AppendIdempotency
    } else if expected.staged != seen.staged {
        Invariant::StagingCleanup
    } else if expected.calls != seen.calls {
        Invariant::CallLifecycle
    } else if expected.state != seen.state || expected.last_step != seen.last_step {
        Invariant::Atomicity
    } else {
        Invariant::Coordination
    }
}

fn about(kind: OperationKind) -> Invariant {
    match kind {
        OperationKind::Promote => Invariant::Atomicity,
        OperationKind::Stage | OperationKind::Discard => Invariant::StagingCleanup,
        OperationKind::AppendMessages | OperationKind::ReadMessages => Invariant::AppendIdempotency,
        OperationKind::RegisterCall | OperationKind::SubmitResult | OperationKind::ExpireCalls => {
            Invariant::CallLifecycle
        }
        OperationKind::CompareAndSetStatus
        | OperationKind::BeginRun
        | OperationKind::RequestInterrupt
        | OperationKind::ConsumeInterrupt
        | OperationKind::Touch => Invariant::Coordination,
        OperationKind::CreateSession
        | OperationKind::DeleteSession
        | OperationKind::Load
        | OperationKind::Cleanup => Invariant::Truth,
    }
}

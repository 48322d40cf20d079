//! Giving a difference its name: which invariant is broken, and what was seen.
//!
//! None of this runs while the store agrees with the model (but for observation, when it
//! is asked for), so it may replay the model and read sessions once more.

use serde::Serialize;
use stagefault_models::{
    Backend, Completion, Entry, Id, Invariant, Observation, Operation, Store, StoreModel,
};

use super::Sequential;
use super::check::{self, Checked, Difference};
use crate::violation::{EpisodeError, Violation};

/// Longer pieces of an explanation are cut; the schedule has them whole.
const MAX_LINE: usize = 600;

impl<B: Backend> Sequential<B> {
    /// Turns a difference into a violation, or into the trouble that it is.
    pub(super) async fn explain(&mut self, difference: Difference) -> EpisodeError {
        match difference {
            Difference::Backend(error) => error.into(),
            Difference::AtEnd(difference) => match *difference {
                Difference::Backend(error) => error.into(),
                Difference::Failed { operation, failure, .. } => {
                    EpisodeError::Failed { operation, failure }
                }
                difference => violation(at_end(difference)),
            },
            Difference::Failed { operation, completion, failure } => {
                match self.broken_promise(&completion).await {
                    Some(broken) => violation(broken),
                    None => EpisodeError::Failed { operation, failure },
                }
            }
            difference => violation(self.at_operation(difference).await),
        }
    }

    /// A violation shown by the operation recorded last.
    async fn at_operation(&mut self, difference: Difference) -> Violation {
        let mut explanation = Vec::new();
        let Some((Entry { writer, operation, .. }, earlier)) = self.record.split_last() else {
            return at_end(difference);
        };
        let index = earlier.len();
        let text = json(operation);
        explanation.push(format!("operation {index} (counted from 0), writer {writer}: {text}"));
        let mut named = describe(&difference, &mut explanation);
        if let Difference::Answer { completion, .. } | Difference::Session { completion, .. } =
            &difference
        {
            let mut before = StoreModel::default();
            for entry in earlier {
                let _ = before.step(&entry.operation);
            }
            // What a load showed is not what the operation itself was answered.
            let completion = match &difference {
                Difference::Answer { .. } => completion.clone(),
                _ => before.clone().step(operation).into(),
            };
            let store = &mut self.stores[0];
            let observed = observe(store, &before, operation, &completion).await;
            if let Err(Difference::Breach(invariant, sentence)) = observed.map_err(|it| *it) {
                explanation.push(sentence);
                named = invariant;
            }
        }
        let operation = Some(operation.kind());
        Violation { invariant: named, index: Some(index), operation, explanation }
    }

    /// `NotApplied` promises that nothing changed; this holds the store to it.
    async fn broken_promise(&mut self, completion: &Completion) -> Option<Violation> {
        let (Entry { operation, .. }, earlier) = self.record.split_last()?;
        if !matches!(completion, Completion::NotApplied(_)) {
            return None;
        }
        let mut before = StoreModel::default();
        for entry in earlier {
            let _ = before.step(&entry.operation);
        }
        let observed = observe(&mut self.stores[0], &before, operation, completion).await;
        let Err(Difference::Breach(_, sentence)) = observed.map_err(|it| *it) else { return None };
        Some(Violation {
            invariant: Invariant::Truth,
            index: Some(earlier.len()),
            operation: Some(operation.kind()),
            explanation: vec![json(operation), json(completion), sentence],
        })
    }
}

fn violation(violation: Violation) -> EpisodeError {
    EpisodeError::Violation(Box::new(violation))
}

/// A violation found after the last operation.
fn at_end(difference: Difference) -> Violation {
    let mut explanation = vec!["after the last operation:".to_owned()];
    let invariant = describe(&difference, &mut explanation);
    Violation { invariant, index: None, operation: None, explanation }
}

/// Says what differs, and which invariant that is when nothing more specific is known.
fn describe(difference: &Difference, lines: &mut Vec<String>) -> Invariant {
    match difference {
        Difference::Answer { expected, completion } => {
            lines
                .push(format!("the model answers:  {}", json(&Completion::from(expected.clone()))));
            lines.push(format!("the store answered: {}", json(completion)));
            Invariant::Truth
        }
        Difference::Session { id, expected, completion } => {
            let expected = expected.as_ref().map_or("no such session".to_owned(), json);
            lines.push(format!("session {id:?} in the model: {expected}"));
            lines.push(format!("session {id:?} as loaded:    {}", json(completion)));
            Invariant::Truth
        }
        Difference::Messages { id, offset, expected, completion } => {
            let expected = json(expected);
            lines.push(format!("messages of {id:?} from {offset} in the model: {expected}"));
            lines.push(format!(
                "messages of {id:?} from {offset} as read:      {}",
                json(completion)
            ));
            Invariant::AppendIdempotency
        }
        Difference::Breach(invariant, sentence) => {
            lines.push(sentence.clone());
            *invariant
        }
        Difference::Rows(findings) => {
            for finding in findings {
                lines.push(cut(finding.to_string()));
            }
            findings.first().map_or(Invariant::Liveness, |finding| finding.invariant)
        }
        Difference::AtEnd(inner) => describe(inner, lines),
        Difference::AfterReopen(inner) => {
            lines.push("the store was closed and opened again, and then:".to_owned());
            describe(inner, lines);
            Invariant::Durability
        }
        Difference::Panicked(text) => {
            lines.push(format!("the store panicked: {text}"));
            Invariant::Liveness
        }
        Difference::Hung(operation) => {
            lines.push(format!("the store did not answer {operation:?} by its deadline"));
            Invariant::Liveness
        }
        Difference::Failed { failure, .. } => {
            lines.push(format!("the store reported: {failure}"));
            Invariant::Liveness
        }
        Difference::Backend(error) => {
            lines.push(error.to_string());
            Invariant::Liveness
        }
    }
}

/// Looks at the sessions that the operation touched, and asks the invariants.
pub(super) async fn observe<S: Store>(
    store: &mut S,
    before: &StoreModel,
    operation: &Operation,
    completion: &Completion,
) -> Checked {
    let touched: Vec<&Id> = match operation.session() {
        Some(id) => vec![id],
        None => before.sessions().map(|(id, _)| id).collect(),
    };
    for session in touched.into_iter().filter(|id| id.is_valid()) {
        let after = check::seen(store, session).await?;
        let (before, after) = (before.session(session), after.as_ref());
        let observation = Observation { session, operation, completion, before, after };
        if let Some((invariant, sentence)) = Invariant::first_breach(&observation) {
            return Err(Difference::Breach(invariant, sentence).into());
        }
    }
    Ok(())
}

fn json<T: Serialize>(value: &T) -> String {
    cut(serde_json::to_string(value).unwrap_or_else(|error| error.to_string()))
}

fn cut(text: String) -> String {
    if text.len() <= MAX_LINE {
        return text;
    }
    let end = (0..=MAX_LINE).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

//! `junit.xml`: a test case for each invariant, so that a CI system shows which are broken.

use maud::{Markup, Render, html};
use stagefault_models::Invariant;

use super::text;
use crate::lane::documents::{FailureDocument, LaneSummary};
use crate::lane::outcome::Outcome;
use crate::lane::signature::Kind;

const INVARIANTS: [Invariant; 9] = [
    Invariant::Atomicity,
    Invariant::VersionMonotonicity,
    Invariant::AppendIdempotency,
    Invariant::StagingCleanup,
    Invariant::CallLifecycle,
    Invariant::Coordination,
    Invariant::Truth,
    Invariant::Durability,
    Invariant::Liveness,
];

/// The document.
pub fn of(summary: &LaneSummary) -> String {
    let suite = format!("stagefault {}", summary.store);
    let mut cases: Vec<(String, Option<Markup>)> = Vec::new();
    for invariant in INVARIANTS {
        let of_it = |it: &&FailureDocument| it.invariant == Some(invariant);
        let broken: Vec<&FailureDocument> = summary.failures.iter().filter(of_it).collect();
        cases.push((invariant.to_string(), failed(&broken)));
    }
    let undecided = |it: &&FailureDocument| it.kind == Kind::Undecided;
    let undecided: Vec<&FailureDocument> = summary.failures.iter().filter(undecided).collect();
    cases.push(("every episode is decided".to_owned(), failed(&undecided)));
    let missing = summary.below_floor.lines();
    let floor = (!missing.is_empty()).then(|| failure("never seen", &missing.join("\n")));
    cases.push(("the coverage floor is reached".to_owned(), floor));
    let cut = match summary.outcome {
        Outcome::CouldNotGoOn | Outcome::Unfinished | Outcome::DidNothing => {
            let error = summary.ending.error.as_deref().unwrap_or_default();
            Some(failure(&summary.outcome.to_string(), error))
        }
        _ => None,
    };
    cases.push(("the run comes to its end".to_owned(), cut));

    let failures = cases.iter().filter(|(_, failure)| failure.is_some()).count();
    let seconds = format!("{:.3}", summary.elapsed.as_secs_f64());
    let body = html! {
        testsuites tests=(cases.len()) failures=(failures) time=(seconds) {
            testsuite name=(suite) tests=(cases.len()) failures=(failures) time=(seconds)
                timestamp=(summary.started.trim_end_matches('Z')) {
                @for (name, failure) in &cases {
                    testcase classname=(suite) name=(name) {
                        @if let Some(failure) = failure { (failure) }
                    }
                }
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", body.into_string())
}

fn failed(failures: &[&FailureDocument]) -> Option<Markup> {
    let first = failures.first()?;
    let one = |failure: &&FailureDocument| {
        let explanation = failure.explanation.join("\n");
        format!("{explanation}\n{}\nreplay it: {}", text::shrinking(failure), failure.replay)
    };
    let all: Vec<String> = failures.iter().map(one).collect();
    Some(failure(&first.signature().to_string(), &all.join("\n\n")))
}

fn failure(message: &str, text: &str) -> Markup {
    html! { failure message=(Xml(message)) { (Xml(text)) } }
}

/// A text that may hold characters which XML has no way to write.
struct Xml<'a>(&'a str);

impl Render for Xml<'_> {
    fn render_to(&self, buffer: &mut String) {
        let is_xml = |it: char| !matches!(it, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
        let text = self.0.replace(|it| !is_xml(it), "\u{fffd}");
        text.render_to(buffer);
    }
}

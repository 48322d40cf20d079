//! A failure's operations over time: who was at what while the operation ran that no order
//! has a place for.
//!
//! Everything follows from the recorded history, which the checker reads again. Hovering
//! over an operation shows what it asked and what it learned.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use maud::{Markup, html};
use stagefault_models::checker::{Verdict, Violation, check_history};
use stagefault_models::{Completion, History, Id, Operation, Recorded};
use stagefault_properties::concurrent::within;

use crate::lane::documents::FailureDocument;
use crate::print;

/// The most that is spent on finding the place again.
const TIME: Duration = Duration::from_secs(10);
const BYTES: usize = 1 << 29;

/// How many operations are drawn on both sides of the one that matters.
const AROUND: usize = 11;

const LEFT: f64 = 70.0;
const WIDTH: f64 = 860.0;
const ROW: f64 = 30.0;
const CHARACTERS: usize = 1200;

/// The drawing, or why there is none.
pub fn of(folder: &Path, failure: &FailureDocument) -> Markup {
    let read = fs::read_to_string(folder.join("history.jsonl")).map_err(|it| it.to_string());
    let history =
        read.and_then(|text| History::from_json_lines(&text).map_err(|error| error.to_string()));
    match history {
        Err(error) => html! { p { "There is no timeline: history.jsonl: " (error) } },
        Ok(history) => {
            let found = match check_history(&history, within(TIME, BYTES)) {
                Verdict::Violation(found) => Some(found),
                Verdict::Linearizable { .. } | Verdict::Undecided(_) => None,
            };
            draw(&history, found.as_ref(), failure)
        }
    }
}

fn draw(
    history: &History,
    found: Option<&Violation<Id, Completion>>,
    failure: &FailureDocument,
) -> Markup {
    let place = found.map(|found| found.stuck).or(failure.index);
    let session = found.map(|found| &found.key);
    let concerns = |recorded: &Recorded| session.is_none_or(|it| of_session(recorded, it));
    let all: Vec<usize> =
        (0..history.operations.len()).filter(|it| concerns(&history.operations[*it])).collect();
    let Some(last) = all.len().checked_sub(1) else { return html! {} };
    let center = all.iter().position(|it| Some(*it) == place).unwrap_or(last);
    let shown = &all[center.saturating_sub(AROUND)..(center + AROUND + 1).min(all.len())];
    let scale = Scale::of(history, shown);
    let order: HashMap<usize, usize> = found.map_or_else(HashMap::new, |found| {
        found.prefix.iter().enumerate().map(|(place, recorded)| (*recorded, place)).collect()
    });
    let height = scale.writers.len() as f64 * ROW + 10.0;
    html! {
        p {
            "The operations "
            @if let Some(session) = session { "of session " code { (session.as_str()) } " " }
            "around "
            @match place {
                Some(place) => { "operation #" (place) },
                None => "the end",
            }
            ", a row for each writer, from call to return"
            @if found.is_some() {
                "; numbers are places in the longest order that explains the answers"
            }
            ". Hover for what was asked and answered."
        }
        svg class="timeline" viewBox={ "0 0 " (WIDTH) " " (height) } role="img" {
            @for (row, writer) in scale.writers.iter().enumerate() {
                text class="tick" x="0" y=(row as f64 * ROW + 24.0) { "writer " (writer) }
                line class="grid" x1=(LEFT) x2=(WIDTH) y1=(row as f64 * ROW + 35.0)
                    y2=(row as f64 * ROW + 35.0) {}
            }
            @for index in shown {
                (bar(&scale, history, *index, Some(*index) == place, order.get(index)))
            }
        }
        @if let (Some(found), Some(place)) = (found, place) {
            p { "Operation #" (place) " has no place. The model would answer" }
            pre { (text(&found.expected)) }
            p { "and what was seen is" }
            pre { (answer(&history.operations[place])) }
        }
    }
}

/// Where the operations that are shown begin and end, without the gaps between.
struct Scale {
    clock: Vec<u64>,
    writers: Vec<u32>,
}

impl Scale {
    fn of(history: &History, shown: &[usize]) -> Self {
        let all = shown.iter().map(|index| &history.operations[*index]);
        let mut writers: Vec<u32> = all.clone().map(|recorded| recorded.writer).collect();
        let ends = all.clone().filter_map(|it| it.returned.as_ref().map(|returned| returned.at));
        let mut clock: Vec<u64> = all.map(|recorded| recorded.called).chain(ends).collect();
        clock.sort_unstable();
        writers.sort_unstable();
        writers.dedup();
        Scale { clock, writers }
    }

    fn x(&self, at: u64) -> f64 {
        let place = self.clock.partition_point(|it| *it < at) as f64;
        LEFT + place / self.clock.len().max(1) as f64 * (WIDTH - LEFT)
    }

    fn y(&self, writer: u32) -> f64 {
        self.writers.iter().position(|it| *it == writer).unwrap_or(0) as f64 * ROW + 8.0
    }
}

fn bar(
    scale: &Scale,
    history: &History,
    index: usize,
    is_stuck: bool,
    order: Option<&usize>,
) -> Markup {
    let recorded = &history.operations[index];
    let (x, y) = (scale.x(recorded.called), scale.y(recorded.writer));
    let end = recorded.returned.as_ref().map_or(WIDTH, |returned| scale.x(returned.at));
    let width = (end - x).max(4.0);
    let completion = recorded.returned.as_ref().map(|returned| &returned.completion);
    let class = match completion {
        _ if is_stuck => "stuck",
        None | Some(Completion::Unknown(_)) => "doubt",
        Some(Completion::Done(_)) => "done",
        Some(Completion::Refused(_) | Completion::NotApplied(_)) => "refused",
    };
    let number = order.map(|order| format!("{}. ", order + 1)).unwrap_or_default();
    let kind = format!("{:?}", recorded.operation.kind());
    // About so many characters fit.
    let fits = |text: &str| text.len() as f64 <= width / 6.0;
    let label = [format!("{number}{kind}"), number, kind.clone()].into_iter().find(|it| fits(it));
    let (label, label_x) = match label {
        Some(label) => (label, x + 4.0),
        // The one that matters is named in any case.
        None if is_stuck => (kind, end + 4.0),
        None => (String::new(), x),
    };
    html! {
        g {
            title {
                "#" (index) ", writer " (recorded.writer) "\n"
                (print::cut(&text(&recorded.operation), CHARACTERS)) "\n→ "
                (print::cut(&answer(recorded), CHARACTERS))
            }
            rect class=(class) x=(x) y=(y) width=(width) height="22" rx="3" {}
            text class="label" x=(label_x) y=(y + 15.0) { (label) }
        }
    }
}

/// Whether the operation is about the session: its own, or a sweep's.
fn of_session(recorded: &Recorded, session: &Id) -> bool {
    match &recorded.operation {
        Operation::ExpireCalls { .. } | Operation::Cleanup { .. } => true,
        operation => operation.session() == Some(session),
    }
}

fn answer(recorded: &Recorded) -> String {
    recorded.returned.as_ref().map_or_else(
        || "nothing came back".to_owned(),
        |returned| print::cut(&text(&returned.completion), CHARACTERS),
    )
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

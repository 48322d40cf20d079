//! What was done to operations for real, and what came of it: operation × point × fault.

use std::fmt::{self, Display};

use maud::{Markup, html};
use serde::Serialize;
use stagefault_models::OperationKind;
use stagefault_properties::concurrent::{Counts, Fired, Tallies};

use crate::lane::documents::Chaos;
use crate::lane::fault_coverage::{self, Place};

/// The columns of a table, after those that name a row.
const COLUMNS: [&str; 9] =
    ["attempted", "fired", "done", "refused", "not applied", "unknown:", "applied", "not", "?"];

/// The whole matrix.
#[derive(Serialize)]
pub struct Matrix<'a> {
    /// Always `stagefault.matrix/1`.
    pub format: &'static str,
    pub total: Counts,
    pub rows: &'a Fired,
}

impl<'a> Matrix<'a> {
    pub fn of(rows: &'a Fired) -> Self {
        Matrix { format: "stagefault.matrix/1", total: rows.total(), rows }
    }
}

impl Display for Matrix<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:<20}{:<17}{:<17}{}", "operation", "point", "fault", header())?;
        for (tried, counts) in self.rows.iter() {
            let (operation, point) =
                (format!("{:?}", tried.operation), format!("{:?}", tried.point));
            let kind = format!("{:?}", tried.kind);
            writeln!(formatter, "{operation:<20}{point:<17}{kind:<17}{}", figures(&counts))?;
        }
        write!(formatter, "{:<54}{}", "all", figures(&self.total))
    }
}

/// The same of all operations together, for the end of a run.
pub fn by_place(counted: &Tallies) -> String {
    let mut text = format!("  {:<17}{:<17}{}\n", "point", "fault", header());
    for ((place, kind), counts) in fault_coverage::by_place(counted) {
        let kind = format!("{kind:?}");
        text += &format!("  {place:<17}{kind:<17}{}\n", figures(&counts));
    }
    text + &format!("  {:<34}{}\n", "all", figures(&counted.fired.total()))
}

fn header() -> String {
    let [attempted, fired, done, refused, not_applied, unknown, applied, not, open] = COLUMNS;
    format!(
        "{attempted:>9} {fired:>7} {done:>7} {refused:>7} {not_applied:>11} {unknown:>9} \
         {applied:>7} {not:>7} {open:>5} violations"
    )
}

fn figures(counts: &Counts) -> String {
    let Counts { attempted, fired, done, refused, not_applied, .. } = *counts;
    let Counts { unknown_applied, unknown_not_applied, unknown, violations, .. } = *counts;
    let all = unknown_applied + unknown_not_applied + unknown;
    format!(
        "{attempted:>9} {fired:>7} {done:>7} {refused:>7} {not_applied:>11} {all:>9} \
         {unknown_applied:>7} {unknown_not_applied:>7} {unknown:>5} {violations:>10}"
    )
}

/// Point and fault × operation, the darker the more often it fired; what can be done and was
/// not yet is a dash.
pub fn heat(counted: &Tallies, chaos: Chaos) -> Markup {
    let rows = rows(counted, chaos);
    let most = rows.iter().flat_map(|row| &row.cells).map(|cell| cell.counts.fired).max();
    let most = (most.unwrap_or(1).max(2) as f64).ln();
    let shade = |fired: u64| (fired.max(1) as f64).ln() / most * 0.85 + 0.1;
    html! {
        div class="scroll" {
            table class="heat" {
                tr {
                    th {}
                    @for operation in OperationKind::ALL {
                        th class="up" { span { (format!("{operation:?}")) } }
                    }
                }
                @for row in &rows {
                    tr {
                        th { (row.place) " " (row.kind) }
                        @for Cell { counts, can_be, operation } in &row.cells {
                            @let title = title(row, *operation, counts);
                            @if counts.violations > 0 {
                                td class="wanted" title=(title) { (counts.fired) }
                            } @else if counts.fired > 0 {
                                td title=(title) class=[(shade(counts.fired) > 0.5).then_some("dark")]
                                    style=(format!("--shade:{:.2}", shade(counts.fired))) {
                                    (super::page::short(counts.fired))
                                }
                            } @else if *can_be {
                                td title=(title) { "–" }
                            } @else {
                                td {}
                            }
                        }
                    }
                }
            }
        }
        p { "How often each fired; a dash: it can be done, and was not yet. A red cell: in an "
            "episode that is a violation." }
        pre class="matrix" { (by_place(counted)) }
    }
}

struct Row {
    place: Place,
    kind: String,
    cells: Vec<Cell>,
}

struct Cell {
    operation: OperationKind,
    counts: Counts,
    can_be: bool,
}

fn title(row: &Row, operation: OperationKind, counts: &Counts) -> String {
    let Counts { attempted, fired, done, refused, not_applied, .. } = *counts;
    let Counts { unknown_applied, unknown_not_applied, unknown, violations, .. } = *counts;
    format!(
        "{operation:?}, {} at {}: attempted {attempted}, fired {fired}, done {done}, refused \
         {refused}, not applied {not_applied}, unknown and applied {unknown_applied}, unknown and \
         not {unknown_not_applied}, unknown {unknown}, violations {violations}",
        row.kind, row.place
    )
}

/// Every fault that can be done, or was.
fn rows(counted: &Tallies, chaos: Chaos) -> Vec<Row> {
    let can_be: Vec<_> = chaos
        .available()
        .all()
        .map(|possible| (Place::of(possible.point), possible.kind, possible.operation))
        .collect();
    let done = counted.fired.iter();
    let done: Vec<_> = done
        .map(|(tried, counts)| ((Place::of(tried.point), tried.kind, tried.operation), counts))
        .collect();
    let mut places: Vec<_> = can_be.iter().chain(done.iter().map(|(place, _)| place)).collect();
    places.sort_unstable_by_key(|(place, kind, _)| (*place, *kind));
    places.dedup_by_key(|(place, kind, _)| (*place, *kind));
    let cell = |(place, kind), operation| {
        let mut counts = Counts::default();
        let these = done.iter().filter(|(at, _)| *at == (place, kind, operation));
        these.for_each(|(_, more)| counts.add(more));
        Cell { operation, counts, can_be: can_be.contains(&(place, kind, operation)) }
    };
    let row = |(place, kind, _): &(Place, _, _)| Row {
        place: *place,
        kind: format!("{kind:?}"),
        cells: OperationKind::ALL.map(|operation| cell((*place, *kind), operation)).into(),
    };
    places.into_iter().map(row).collect()
}

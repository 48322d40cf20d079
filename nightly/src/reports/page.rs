//! `report.html`: one page that needs nothing but itself.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use stagefault_models::{CompletionKind, OperationKind};

use super::{charts, matrix, text, timeline};
use crate::lane::coverage;
use crate::lane::documents::LaneSummary;
use crate::lane::folder::Results;
use crate::lane::outcome::Outcome;

const STYLE: &str = include_str!("page.css");

/// The page.
pub fn of(results: &Results, summary: &LaneSummary) -> String {
    let good = if summary.outcome == Outcome::Held { "good" } else { "bad" };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Stagefault: " (summary.outcome) ", " (summary.store) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Stagefault " span class=(good) { (summary.outcome) } }
                p { (results.run.subject()) ", started " (summary.started) }
                @if let Some(error) = &summary.ending.error { p class="bad" { (error) } }
                (figures(summary))
                (failures(results))
                (known(summary))
                h2 { "Throughput" }
                (charts::throughput(&results.points))
                h2 { "Latency" }
                @match charts::latency(&results.points) {
                    Some(chart) => (chart),
                    None => { p { "Not measured: where writers take turns, time says nothing." } },
                }
                (latencies(results))
                h2 { "Completions by kind" }
                (completions(summary))
                h2 { "Coverage" }
                (coverage(results, summary))
                @if let Some(chaos) = results.run.chaos {
                    h2 { "Faults done for real" }
                    (matrix::heat(&results.total.counted, chaos))
                }
            }
        }
    };
    page.into_string()
}

fn figures(summary: &LaneSummary) -> Markup {
    let shards: Vec<String> = summary.shards.iter().map(ToString::to_string).collect();
    html! {
        dl {
            div { dt { "operations" } dd { (summary.operations) } }
            div { dt { "episodes" } dd { (summary.episodes) } }
            div { dt { "time" } dd { (crate::report::seconds(summary.elapsed)) } }
            div { dt { "a second" } dd { (summary.operations_per_second) } }
            div { dt { "failures" } dd { (summary.failures.len()) } }
            div { dt { "shard" } dd { (shards.join(", ")) } }
            @for (name, count) in summary.faults.iter() {
                div { dt { "fault " (name.replace('_', " ")) } dd { (count) } }
            }
        }
    }
}

fn failures(results: &Results) -> Markup {
    html! {
        @for (folder, failure) in &results.failures {
            section class="failure" {
                h2 { "Failure " (failure.number) ": " (failure.signature()) }
                p { "Episode " (failure.episode) ". " (text::shrinking(failure)) "." }
                p { "Replay it:" }
                pre { (failure.replay) }
                (timeline::of(folder, failure))
                details {
                    summary { "What was found" }
                    pre { (failure.explanation.join("\n")) }
                }
            }
        }
    }
}

fn known(summary: &LaneSummary) -> Markup {
    html! {
        @if !summary.known.is_empty() {
            h2 { "Known failures" }
            ul { @for seen in &summary.known { li { (seen.signature) ", " (seen.times) " times" } } }
        }
    }
}

/// Median and 99th percentile of each operation.
fn latencies(results: &Results) -> Markup {
    let of = |operation| results.total.counted.latencies.of(operation);
    let rows = OperationKind::ALL.into_iter().filter_map(|operation| {
        let median = charts::percentile(of(operation), 0.5)?;
        let high = charts::percentile(of(operation), 0.99)?;
        Some((operation, charts::time(median), charts::time(high)))
    });
    let rows: Vec<_> = rows.collect();
    html! {
        @if !rows.is_empty() {
            details {
                summary { "By operation" }
                table {
                    tr { th { "operation" } th { "median below" } th { "99 % below" } }
                    @for (operation, median, high) in rows {
                        tr { td { (format!("{operation:?}")) } td { (median) } td { (high) } }
                    }
                }
            }
        }
    }
}

/// A bar for each kind of completion.
fn completions(summary: &LaneSummary) -> Markup {
    let mut counts = [0; CompletionKind::ALL.len()];
    summary
        .completions
        .iter()
        .for_each(|(_, completion, count)| counts[completion as usize] += count);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    html! {
        table class="bars" {
            @for completion in CompletionKind::ALL {
                @let count = counts[completion as usize];
                tr {
                    td { (format!("{completion:?}")) }
                    td class="number" { (count) }
                    td class="bar" {
                        div style=(format!("width:{:.1}%", count as f64 / most as f64 * 100.0)) {}
                    }
                }
            }
        }
    }
}

/// Operation × completion, the darker the more often.
fn coverage(results: &Results, summary: &LaneSummary) -> Markup {
    let counts = summary.completions.iter().map(|(_, _, count)| count);
    let most = (counts.max().unwrap_or(1) as f64).ln().max(1.0);
    let shade = |count: u64| (count.max(1) as f64).ln() / most * 0.85 + 0.1;
    let floor: Vec<_> = results
        .run
        .resolve()
        .map(|resolved| coverage::floor(resolved.profile).collect())
        .unwrap_or_default();
    html! {
        div class="scroll" {
            table class="heat" {
                tr {
                    th {}
                    @for completion in CompletionKind::ALL {
                        th class="up" { span { (format!("{completion:?}")) } }
                    }
                }
                @for operation in OperationKind::ALL {
                    tr {
                        th { (format!("{operation:?}")) }
                        @for completion in CompletionKind::ALL {
                            @let count = summary.completions.of(operation, completion);
                            @let title = format!("{operation:?} {completion:?}: {count}");
                            @if count > 0 {
                                td title=(title) class=[(shade(count) > 0.5).then_some("dark")]
                                    style=(format!("--shade:{:.2}", shade(count))) {
                                    (short(count))
                                }
                            } @else if floor.contains(&(operation, completion)) {
                                td class="wanted" title=(title) { "–" }
                            } @else {
                                td title=(title) {}
                            }
                        }
                    }
                }
            }
        }
        p {
            "A dash: a run of " (coverage::LONG_ENOUGH) " operations must have seen it, and this "
            "one has not yet."
        }
        @if !summary.below_floor.is_empty() {
            p class="bad" { "Never seen: " (summary.below_floor.lines().join(", ")) }
        }
    }
}

/// A count in a small cell.
pub fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

//! Lines over time, drawn as SVG by hand: throughput and latency.

use maud::{Markup, html};
use stagefault_properties::concurrent::Latencies;

use crate::lane::folder::Point;

/// The drawing's size, and its margins at the left and below.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 70.0;
const BELOW: f64 = 24.0;

/// The most points that a line has.
const BINS: u64 = 200;

/// What happened in one stretch of time.
#[derive(Clone)]
struct Bin {
    operations: f64,
    latencies: [u64; Latencies::BUCKETS],
}

/// Time in stretches of equal length.
struct Bins {
    milliseconds: u64,
    end: u64,
    bins: Vec<Bin>,
}

impl Bins {
    fn of(points: &[Point]) -> Self {
        let end = points.iter().map(|point| point.milliseconds).max().unwrap_or(0).max(1);
        let milliseconds = end.div_ceil(BINS).max(1000);
        let empty = Bin { operations: 0.0, latencies: [0; Latencies::BUCKETS] };
        let mut bins = vec![empty; end.div_ceil(milliseconds) as usize];
        for point in points {
            let first = point.since / milliseconds;
            let last = point.milliseconds.saturating_sub(1).max(point.since) / milliseconds;
            // A line is about all the time since the one before it.
            let span = (point.milliseconds - point.since).max(1) as f64;
            for place in first..=last {
                let start = point.since.max(place * milliseconds);
                let end = point.milliseconds.min((place + 1) * milliseconds);
                let part = end.saturating_sub(start).max(u64::from(first == last)) as f64 / span;
                bins[place as usize].operations += point.operations as f64 * part;
            }
            let bin = &mut bins[last as usize];
            let more = bin.latencies.iter_mut().zip(point.latencies);
            more.for_each(|(count, more)| *count += more);
        }
        Bins { milliseconds, end, bins }
    }

    /// Each stretch's middle in milliseconds, its length in seconds, and what happened.
    fn iter(&self) -> impl Iterator<Item = (f64, f64, &Bin)> {
        self.bins.iter().enumerate().map(|(place, bin)| {
            let start = place as u64 * self.milliseconds;
            let end = (start + self.milliseconds).min(self.end);
            ((start + end) as f64 / 2.0, (end - start).max(1) as f64 / 1000.0, bin)
        })
    }
}

/// Operations a second.
pub fn throughput(points: &[Point]) -> Markup {
    let bins = Bins::of(points);
    let rate = bins.iter().map(|(at, seconds, bin)| (at, bin.operations / seconds));
    let rate = Line { name: "operations a second", class: "first", values: rate.collect() };
    let highest = rate.values.iter().map(|(_, rate)| *rate).fold(1.0, f64::max);
    let step = round_step(highest / 4.0);
    let top = (highest / step).ceil() * step;
    let ticks = (0..=(top / step).round() as u32).map(|tick| f64::from(tick) * step);
    let ticks = ticks.map(|value| (value / top, format!("{value}"))).collect();
    drawing(bins.end, &[rate], ticks, |value| value / top)
}

/// The median and the 99th percentile; `None` where nobody measured.
pub fn latency(points: &[Point]) -> Option<Markup> {
    let bins = Bins::of(points);
    let percentile = |part: f64| {
        let known = bins.iter().filter_map(move |(at, _, bin)| {
            percentile(&bin.latencies, part).map(|micros| (at, micros))
        });
        known.collect::<Vec<_>>()
    };
    let median = Line { name: "median", class: "first", values: percentile(0.5) };
    let high = Line { name: "99th percentile", class: "second", values: percentile(0.99) };
    if median.values.is_empty() {
        return None;
    }
    let logs = high.values.iter().chain(&median.values).map(|(_, micros)| micros.log10());
    let (low, top) = logs.fold((f64::MAX, f64::MIN), |(low, top), it| (low.min(it), top.max(it)));
    let (low, top) = (low.floor(), top.ceil().max(low.floor() + 1.0));
    let height = |micros: f64| (micros.log10() - low) / (top - low);
    let decades = low as i32..=top as i32;
    let ticks = decades.map(|it| (height(10f64.powi(it)), time(10f64.powi(it)))).collect();
    Some(drawing(bins.end, &[median, high], ticks, height))
}

/// The time that this part of the operations took less than, in microseconds.
pub fn percentile(buckets: &[u64; Latencies::BUCKETS], part: f64) -> Option<f64> {
    let total: u64 = buckets.iter().sum();
    let wanted = (total as f64 * part).ceil() as u64;
    let mut below = 0;
    for (bucket, count) in buckets.iter().enumerate() {
        below += count;
        if total > 0 && below >= wanted {
            return Some(f64::from(1u32 << (bucket as u32 + 1)));
        }
    }
    None
}

/// Microseconds, for a reader.
pub fn time(micros: f64) -> String {
    match micros {
        micros if micros < 1e3 => format!("{micros:.0} µs"),
        micros if micros < 1e6 => format!("{:.0} ms", micros / 1e3),
        micros => format!("{:.0} s", micros / 1e6),
    }
}

struct Line {
    name: &'static str,
    class: &'static str,
    values: Vec<(f64, f64)>,
}

/// Draws lines over time. A tick is at a part of the height.
fn drawing(
    end: u64,
    lines: &[Line],
    ticks: Vec<(f64, String)>,
    height: impl Fn(f64) -> f64,
) -> Markup {
    let x = |milliseconds: f64| LEFT + milliseconds / end as f64 * (WIDTH - LEFT - 8.0);
    let y = |part: f64| 8.0 + (1.0 - part) * (HEIGHT - BELOW - 8.0);
    let path = |line: &Line| {
        let points = line.values.iter();
        let points = points.map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(height(*value))));
        points.collect::<Vec<_>>().join(" ")
    };
    let last = std::time::Duration::from_secs(end.div_ceil(1000));
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" {
            @for (part, text) in &ticks {
                line class="grid" x1=(LEFT) x2=(WIDTH - 8.0) y1=(y(*part)) y2=(y(*part)) {}
                text class="tick" x=(LEFT - 6.0) y=(y(*part) + 4.0) text-anchor="end" { (text) }
            }
            @for line in lines {
                polyline class=(line.class) points=(path(line)) {}
                // One value is no line.
                @if let [(at, value)] = line.values[..] {
                    circle class=(line.class) cx=(x(at)) cy=(y(height(value))) r="3" {}
                }
            }
            text class="tick" x=(LEFT) y=(HEIGHT - 6.0) { "0" }
            text class="tick" x=(WIDTH - 8.0) y=(HEIGHT - 6.0) text-anchor="end" {
                (humantime::format_duration(last))
            }
        }
        p class="legend" {
            @for line in lines { span class=(line.class) { (line.name) } " " }
        }
    }
}

/// 1, 2 or 5 times a power of ten, and no less than this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.max(1.0).log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    factors.into_iter().map(|it| it * power).find(|it| *it >= least).unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_enough() {
        for (least, step) in [(0.3, 1.0), (1.0, 1.0), (1.2, 2.0), (30.0, 50.0), (700.0, 1000.0)] {
            assert_eq!(round_step(least), step, "{least}");
        }
    }

    #[test]
    fn a_percentile_is_the_end_of_its_bucket() {
        let mut buckets = [0; Latencies::BUCKETS];
        assert_eq!(percentile(&buckets, 0.5), None);
        (buckets[3], buckets[10]) = (98, 2);
        assert_eq!(percentile(&buckets, 0.5), Some(16.0));
        assert_eq!(percentile(&buckets, 0.99), Some(2048.0));
    }
}

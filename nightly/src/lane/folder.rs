//! A run's folder as it is read back: by `--resume`, and by `report`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use stagefault_models::OperationKind;
use stagefault_properties::concurrent::Latencies;

use super::coverage::Missing;
use super::documents::{Chaos, FailureDocument, LaneName, LaneRun, LaneSummary};
use super::journal::{self, Line, Total};
use super::outcome::{Ending, Facts, Outcome};
use super::shard::Shard;
use super::signature::Kind;
use crate::documents::SummaryFormat;
use crate::episodes::rate;
use crate::error::CommandError;

/// What a run, or several shards of one, came to.
pub struct Results {
    /// Where they are.
    pub folder: PathBuf,
    pub run: LaneRun,
    pub shards: Vec<Shard>,
    pub total: Total,
    /// How it went over time.
    pub points: Vec<Point>,
    /// Each with the folder that holds it.
    pub failures: Vec<(PathBuf, FailureDocument)>,
    /// Absent: nothing says that all of it ended.
    pub ending: Option<Ending>,
}

/// What one line of the journal says of time.
#[derive(Clone, Debug)]
pub struct Point {
    /// When the line before it was written, and when it was.
    pub since: u64,
    pub milliseconds: u64,
    pub operations: u64,
    /// How many operations took how long, of all kinds together.
    pub latencies: [u64; Latencies::BUCKETS],
}

impl Point {
    fn of(line: &Line, since: u64) -> Self {
        let mut latencies = [0; Latencies::BUCKETS];
        for operation in OperationKind::ALL {
            let more = line.counted.latencies.of(operation);
            latencies.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        let operations = line.counted.completions.total();
        // A clock that was set back between two processes is no reason to run backwards.
        let milliseconds = line.milliseconds.max(since);
        Point { since, milliseconds, operations, latencies }
    }
}

impl Results {
    /// Reads the folder.
    ///
    /// # Errors
    /// [`CommandError::BadFile`]: it is no run of this lane and version, or is damaged.
    pub fn read(folder: &Path) -> Result<Self, CommandError> {
        let run = read_run(folder)?;
        let (mut total, mut points) = (Total::default(), Vec::new());
        // Killed before it had a journal, a run has done nothing.
        if folder.join("journal.jsonl").exists() {
            journal::read(folder, |line| {
                let since = points.last().map_or(0, |point: &Point| point.milliseconds);
                total.add(&line);
                points.push(Point::of(&line, since));
            })?;
        }
        let failures = read_failures(folder)?;
        let kept: BTreeSet<u64> = failures.iter().map(|(_, failure)| failure.number).collect();
        if let Some(lost) = total.failures.iter().find(|found| !kept.contains(&found.number)) {
            let path = folder.join(format!("failures/{}/violation.json", lost.number));
            return Err(bad(&path, "it is gone, and the journal has it"));
        }
        let shards = vec![run.shard];
        let ending = read_ending(folder)?;
        let folder = folder.to_owned();
        Ok(Results { folder, run, shards, total, points, failures, ending })
    }

    /// What it comes to.
    pub fn summary(&self) -> LaneSummary {
        let run = &self.run;
        let available = run.chaos.map(Chaos::available);
        let counted = &self.total.counted;
        let missing = run.resolve().map(|it| Missing::of(it.profile, available, counted));
        let missing = missing.unwrap_or_default();
        let kinds: Vec<Kind> = self.failures.iter().map(|(_, failure)| failure.kind).collect();
        let episodes = self.total.episodes;
        let ending = self.ending.as_ref();
        let outcome = Outcome::of(&Facts { kinds: &kinds, ending, episodes, missing: &missing });
        let elapsed = self.total.elapsed;
        let wall = elapsed / u32::try_from(self.shards.len().max(1)).unwrap_or(u32::MAX);
        LaneSummary {
            format: SummaryFormat::Version1,
            outcome,
            ending: self.ending.clone().unwrap_or_default(),
            lane: LaneName::Concurrent,
            store: run.store,
            flaw: run.flaw.clone(),
            profile: run.profile.clone(),
            seed: run.seed,
            started: run.started.clone(),
            writers: run.writers,
            shards: self.shards.clone(),
            episodes,
            operations: self.total.operations(),
            elapsed,
            operations_per_second: rate(self.total.operations(), wall),
            completions: self.total.counted.completions.clone(),
            faults: self.total.counted.faults,
            real_faults: self.total.counted.fired.clone(),
            below_floor: missing,
            failures: self.failures.iter().map(|(_, failure)| failure.clone()).collect(),
            known: self.total.known.clone(),
            artifacts: self.folder.clone(),
        }
    }
}

/// Reads `run.json`.
///
/// # Errors
/// [`CommandError::BadFile`].
pub fn read_run(folder: &Path) -> Result<LaneRun, CommandError> {
    #[derive(Deserialize)]
    struct Kind {
        format: Option<String>,
        lane: Option<String>,
    }
    let path = folder.join("run.json");
    let text = read_text(&path)?;
    let Kind { format, lane } = parse(&path, &text)?;
    match format.as_deref() {
        Some("stagefault.run/1") => {}
        Some(format) => {
            let reason =
                format!("a document of format {format:?}; this version reads \"stagefault.run/1\"");
            return Err(bad(&path, &reason));
        }
        None => return Err(bad(&path, "not a run: it has no \"format\" member")),
    }
    if lane.as_deref() != Some("concurrent") {
        let reason =
            "a run of the sequential lane, which keeps no journal; --writers 2 or more does";
        return Err(bad(&path, reason));
    }
    let run: LaneRun = parse(&path, &text)?;
    if run.shard.index >= run.shard.count {
        return Err(bad(&path, &format!("there is no shard {}", run.shard)));
    }
    Ok(run)
}

/// Reads all that is in `failures/`, by number.
pub fn read_failures(folder: &Path) -> Result<Vec<(PathBuf, FailureDocument)>, CommandError> {
    let entries = match fs::read_dir(folder.join("failures")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(bad(folder, &format!("cannot be read: {error}"))),
    };
    let mut failures = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| bad(folder, &error.to_string()))?.path();
        let file = path.join("violation.json");
        // Written last: without it the folder is not finished, and its episode not counted.
        if !file.exists() {
            continue;
        }
        let failure: FailureDocument = parse(&file, &read_text(&file)?)?;
        failures.push((path, failure));
    }
    failures.sort_by_key(|(_, failure)| failure.number);
    Ok(failures)
}

/// How the run ended, if it did.
fn read_ending(folder: &Path) -> Result<Option<Ending>, CommandError> {
    let path = folder.join("summary.json");
    if !path.exists() {
        return Ok(None);
    }
    #[derive(Deserialize)]
    struct Summary {
        outcome: Outcome,
        #[serde(flatten)]
        ending: Ending,
    }
    let summary: Summary = parse(&path, &read_text(&path)?)?;
    Ok((summary.outcome != Outcome::Unfinished).then_some(summary.ending))
}

fn read_text(path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(|error| bad(path, &format!("cannot be read: {error}")))
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, CommandError> {
    serde_json::from_str(text).map_err(|error| bad(path, &format!("is damaged: {error}")))
}

fn bad(path: &Path, reason: &str) -> CommandError {
    CommandError::BadFile { path: path.to_owned(), reason: reason.to_owned() }
}

/// Joins the shards of one run. What is wrong with one of them is wrong with the whole.
///
/// # Errors
/// [`CommandError::BadFile`]: they are not of one run, or one is there twice.
pub fn merge(all: Vec<Results>, into: &Path) -> Result<Results, CommandError> {
    let mut all = all.into_iter();
    let Some(mut merged) = all.next() else { return Err(bad(into, "there is nothing to join")) };
    let mut ending = merged.ending.clone().unwrap_or_default();
    let mut problems = Vec::from_iter(merged.problem());
    for next in all {
        let path = next.folder.join("run.json");
        if !belong_together(&merged.run, &next.run) {
            let other = merged.folder.display();
            return Err(bad(&path, &format!("not of the same run as {other}")));
        }
        if merged.shards.contains(&next.run.shard) {
            return Err(bad(&path, &format!("shard {} is there twice", next.run.shard)));
        }
        problems.extend(next.problem());
        ending.signal = ending.signal.or(next.ending.as_ref().and_then(|ending| ending.signal));
        merged.take(next);
    }
    merged.shards.sort_unstable();
    merged.points.sort_by_key(|point| point.milliseconds);
    problems.extend(merged.missing_shards());
    ending.error = (!problems.is_empty()).then(|| problems.join("; "));
    merged.ending = Some(ending);
    merged.folder = into.to_owned();
    Ok(merged)
}

impl Results {
    fn take(&mut self, other: Results) {
        let Results { run, shards, total, points, failures, .. } = other;
        self.run.started = std::mem::take(&mut self.run.started).min(run.started);
        self.shards.extend(shards);
        self.points.extend(points);
        self.failures.extend(failures);
        self.total.episodes += total.episodes;
        self.total.elapsed += total.elapsed;
        self.total.counted.add(&total.counted);
        self.total.failures.extend(total.failures);
        total.known.into_iter().for_each(|seen| journal::see(&mut self.total.known, seen));
    }

    /// What is wrong with a shard, whatever it found.
    fn problem(&self) -> Option<String> {
        let shard = self.run.shard;
        match &self.ending {
            None => Some(format!("shard {shard} did not end")),
            Some(Ending { error: Some(error), .. }) => Some(format!("shard {shard}: {error}")),
            Some(_) if self.total.episodes == 0 => Some(format!("shard {shard} did nothing")),
            Some(_) => None,
        }
    }

    /// That shards are missing, if some are.
    fn missing_shards(&self) -> Option<String> {
        const SHOWN: usize = 10;
        let count = self.run.shard.count;
        let all = (0..count).map(|index| Shard { index, count });
        let missing = all.filter(|shard| !self.shards.contains(shard)).take(SHOWN);
        let missing: Vec<String> = missing.map(|shard| shard.to_string()).collect();
        (!missing.is_empty()).then(|| format!("not there: shard {}", missing.join(", ")))
    }
}

fn belong_together(left: &LaneRun, right: &LaneRun) -> bool {
    let what = |run: &LaneRun| {
        let LaneRun { version, store, flaw, profile, seed, writers, chaos, shard, .. } =
            run.clone();
        (version, store, flaw, profile, seed, writers, chaos, shard.count)
    };
    what(left) == what(right)
}

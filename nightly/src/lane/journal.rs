//! `journal.jsonl`: what the finished episodes came to, a line for each second.
//!
//! It is the only thing that a later process trusts: an episode that a line covers is never
//! run or counted again, and one that no line covers is. So each line is brought to disk
//! as a whole, and a run that is killed loses at most the last second. What a crash can
//! leave is a last line without its end, which is cut off. Anything else that is not as
//! it was written is damage, and is said with the number of its line.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stagefault_properties::concurrent::Tallies;

use super::signature::Signature;
use crate::error::CommandError;

/// The file's name.
const NAME: &str = "journal.jsonl";

/// The first line.
const HEADER: &str = "{\"format\":\"stagefault.journal/1\"}\n";

/// A range of finished episodes. Episodes are counted within the shard: the n-th of them
/// has the number that [`super::shard::Shard::episode`] gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The first one.
    pub first: u64,
    /// How many.
    pub episodes: u64,
    /// For how long the run had been at it when the last one was finished.
    pub milliseconds: u64,
    /// What was counted in these episodes.
    pub counted: Tallies,
    /// The failures found in them, each with its folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Found>,
    /// Those that were known before, and how often each was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Seen>,
}

/// A failure, and the folder that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The folder's: `failures/NUMBER`.
    pub number: u64,
    /// The episode's number in the run.
    pub episode: u64,
    #[serde(flatten)]
    pub signature: Signature,
}

/// A known failure, and how often it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub times: u64,
    #[serde(flatten)]
    pub signature: Signature,
}

/// What the lines of a journal come to.
#[derive(Clone, Debug, Default)]
pub struct Total {
    pub episodes: u64,
    pub elapsed: Duration,
    pub counted: Tallies,
    pub failures: Vec<Found>,
    pub known: Vec<Seen>,
}

impl Line {
    /// Whether there is nothing to be written.
    pub fn is_empty(&self) -> bool {
        self.episodes == 0 && self.failures.is_empty()
    }
}

impl Total {
    /// Counts a line.
    pub fn add(&mut self, line: &Line) {
        self.episodes += line.episodes;
        self.elapsed = Duration::from_millis(line.milliseconds);
        self.counted.add(&line.counted);
        self.failures.extend(&line.failures);
        line.known.iter().for_each(|seen| see(&mut self.known, *seen));
    }

    /// How many operations the episodes had, their ends included.
    pub fn operations(&self) -> u64 {
        self.counted.completions.total()
    }
}

/// Counts a known failure.
pub fn see(known: &mut Vec<Seen>, seen: Seen) {
    match known.iter_mut().find(|known| known.signature == seen.signature) {
        Some(known) => known.times += seen.times,
        None => known.push(seen),
    }
}

/// The journal of a run that is under way; nobody else can write it.
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Begins the journal of a new run.
    ///
    /// # Errors
    /// [`CommandError::Write`].
    pub fn begin(folder: &Path) -> Result<Self, CommandError> {
        let path = folder.join(NAME);
        let open = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = open.map_err(|error| CommandError::Write { path: path.clone(), error })?;
        let mut journal = Journal { file, path };
        journal.lock()?;
        journal.append(HEADER)?;
        Ok(journal)
    }

    /// Goes on with the journal of an earlier process, after each of its lines was seen.
    ///
    /// # Errors
    /// That it is damaged, still written by a process, or cannot be read or written.
    pub fn go_on(folder: &Path, seen: impl FnMut(Line)) -> Result<Self, CommandError> {
        let path = folder.join(NAME);
        // Killed before it had a journal, a run has done nothing.
        let open = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = open.map_err(|error| CommandError::Write { path: path.clone(), error })?;
        let mut journal = Journal { file, path };
        journal.lock()?;
        let whole = read_lines(&journal.file, &journal.path, seen)?;
        journal.written(|file| {
            file.set_len(whole)?;
            file.seek(SeekFrom::End(0)).map(drop)
        })?;
        if whole == 0 {
            journal.append(HEADER)?;
        }
        Ok(journal)
    }

    fn lock(&self) -> Result<(), CommandError> {
        match self.file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                Err(CommandError::FolderRuns(self.path.parent().unwrap_or(&self.path).to_owned()))
            }
            Err(TryLockError::Error(error)) => {
                Err(CommandError::Write { path: self.path.clone(), error })
            }
        }
    }

    /// Writes a line, and returns when it is on disk.
    ///
    /// # Errors
    /// [`CommandError::Write`].
    pub fn write(&mut self, line: &Line) -> Result<(), CommandError> {
        let text = serde_json::to_string(line).expect("a line's keys are strings");
        self.append(&(text + "\n"))
    }

    fn append(&mut self, text: &str) -> Result<(), CommandError> {
        self.written(|file| {
            file.write_all(text.as_bytes())?;
            file.sync_data()
        })
    }

    fn written(
        &mut self,
        write: impl FnOnce(&mut File) -> std::io::Result<()>,
    ) -> Result<(), CommandError> {
        let error = |error| CommandError::Write { path: self.path.clone(), error };
        write(&mut self.file).map_err(error)
    }
}

/// Reads the journal of a run that has ended, or was killed.
///
/// # Errors
/// That it is damaged, or cannot be read.
pub fn read(folder: &Path, seen: impl FnMut(Line)) -> Result<(), CommandError> {
    let path = folder.join(NAME);
    let file = File::open(&path).map_err(|error| CommandError::BadFile {
        path: path.clone(),
        reason: format!("cannot be read: {error}"),
    })?;
    read_lines(&file, &path, seen).map(drop)
}

/// Reads every whole line; answers how many bytes they are.
fn read_lines(file: &File, path: &Path, mut seen: impl FnMut(Line)) -> Result<u64, CommandError> {
    let damaged = |number: u64, reason: String| CommandError::BadFile {
        path: path.to_owned(),
        reason: format!("line {number} is damaged: {reason}"),
    };
    let mut reader = BufReader::new(file);
    let (mut whole, mut next, mut text) = (0, 0, Vec::new());
    for number in 1.. {
        text.clear();
        let read = reader.read_until(b'\n', &mut text);
        read.map_err(|error| damaged(number, format!("it cannot be read: {error}")))?;
        if text.last() != Some(&b'\n') {
            // The end, or a line that a crash cut off.
            break;
        }
        if number == 1 {
            if text != HEADER.as_bytes() {
                return Err(damaged(number, format!("it is not {}", HEADER.trim_end())));
            }
        } else {
            let line: Line = serde_json::from_slice(&text)
                .map_err(|error| damaged(number, without_line(&error)))?;
            if line.first != next {
                let first = line.first;
                let reason = format!("it begins with episode {first}, and {next} is the next one");
                return Err(damaged(number, reason));
            }
            next += line.episodes;
            seen(line);
        }
        whole += text.len() as u64;
    }
    Ok(whole)
}

/// The parser counts lines within the line that it was given.
fn without_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 ", " at ")
}

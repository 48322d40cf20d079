//! What a server leaves on the machine: processes, its folder, shared memory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long the guardian may take after its server's owner was killed.
const LIMIT: Duration = Duration::from_secs(30);

/// Waits until something can be observed, and fails if it cannot within the limit.
pub fn wait_until(what: &str, mut observed: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !observed() {
        assert!(Instant::now() < deadline, "waited {LIMIT:?} in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// All that was seen of the servers in a folder.
pub struct Traces {
    folder: PathBuf,
    processes: BTreeSet<Process>,
    shared_files: BTreeSet<PathBuf>,
}

/// A process; a number alone may be given to another one later.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Process {
    pub pid: u32,
    started: u64,
}

impl Traces {
    /// None yet, of any server in the folder or below.
    pub fn of(folder: &Path) -> Self {
        let folder = folder.to_owned();
        Traces { folder, processes: BTreeSet::new(), shared_files: BTreeSet::new() }
    }

    /// Those of a running server.
    pub fn of_running(folder: &Path) -> Self {
        let mut traces = Self::of(folder);
        traces.look();
        assert!(folder.exists() && traces.processes.len() > 5, "this is no running server");
        traces
    }

    /// Takes note of what is there now.
    pub fn look(&mut self) {
        for process in processes_of(&self.folder) {
            self.shared_files.extend(shared_files(process.pid));
            self.processes.insert(process);
        }
    }

    /// What is still there of all that was seen.
    pub fn left(&self) -> Vec<String> {
        let folder = self.folder.exists().then(|| format!("folder {}", self.folder.display()));
        let seen = self.processes.iter().filter(|process| process.lives()).cloned();
        let processes: BTreeSet<_> = seen.chain(processes_of(&self.folder)).collect();
        let segments = segments_of(&self.processes);
        let shared_files = self.shared_files.iter().filter(|file| file.exists());
        let processes = processes.iter().map(|process| format!("process {}", describe(process)));
        let segments = segments.iter().map(|id| format!("shared memory {id}"));
        let shared_files = shared_files.map(|file| file.display().to_string());
        folder.into_iter().chain(processes).chain(segments).chain(shared_files).collect()
    }

    /// Nothing is left, now.
    #[track_caller]
    pub fn assert_gone(&self) {
        assert_eq!(self.left(), Vec::<String>::new());
    }

    /// Nothing is left, soon: for when nobody could wait for the guardian.
    pub fn wait_until_gone(&self) {
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline && !self.left().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        self.assert_gone();
    }
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        // One that has ended, and whose parent has not asked how, is as good as gone.
        let lives = fields.next()? != "Z";
        lives.then_some(Process { pid, started: fields.nth(18)?.parse().ok()? })
    }

    fn lives(&self) -> bool {
        Self::read(self.pid).as_ref() == Some(self)
    }
}

/// The processes that work in a folder, have files of it open, or name it in their arguments.
pub fn processes_of(folder: &Path) -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id() && belongs(*pid, folder))
        .filter_map(Process::read)
        .collect()
}

fn belongs(pid: u32, folder: &Path) -> bool {
    let is_inside = |link: PathBuf| fs::read_link(link).is_ok_and(|path| path.starts_with(folder));
    let process = PathBuf::from(format!("/proc/{pid}"));
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    is_inside(process.join("cwd"))
        || arguments(pid).contains(&*folder.to_string_lossy())
        || files.into_iter().any(|file| is_inside(file.path()))
}

/// A process's arguments, separated by spaces.
pub fn arguments(pid: u32) -> String {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments).replace('\0', " ")
}

fn describe(process: &Process) -> String {
    format!("{} {}", process.pid, arguments(process.pid))
}

fn shared_files(pid: u32) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let paths =
        maps.lines().filter_map(|line| Some(PathBuf::from(&line[line.find("/dev/shm/")?..])));
    paths.collect()
}

/// The shared memory that these processes made: a table of key, id, mode, size and creator.
fn segments_of(processes: &BTreeSet<Process>) -> Vec<String> {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let segments = table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let id = fields.nth(1)?.to_owned();
        let creator: u32 = fields.nth(2)?.parse().ok()?;
        processes.iter().any(|process| process.pid == creator).then_some(id)
    });
    segments.collect()
}

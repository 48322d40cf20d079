//! `--store postgres` on a server that the command starts itself: nothing is left of it,
//! however the command ends and whoever runs it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::{Signal, geteuid};

use crate::support::{Ended, Place, Running, full_pipe, open_to_all};
use crate::traces::Traces;

/// A command whose server was seen, and which stands still when it prints its first result.
struct Held {
    place: Place,
    running: Running,
    results: std::io::PipeReader,
    traces: Traces,
    /// The program, where every user can reach it.
    _program: tempfile::TempDir,
}

/// Who runs the command: a user and a group.
type User = Option<(u32, u32)>;

/// Ourselves, and if we are root, an ordinary user too.
fn users() -> Vec<User> {
    if geteuid().is_root() { vec![None, Some(nobody())] } else { vec![None] }
}

fn nobody() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").expect("the users");
    let line = users.lines().find_map(|line| line.strip_prefix("nobody:")).expect("nobody");
    let mut numbers = line.split(':').skip(1).map(|number| number.parse().expect("a number"));
    (numbers.next().expect("a user"), numbers.next().expect("a group"))
}

impl Held {
    fn start(user: User, arguments: &str) -> Self {
        let (place, program) = (Place::new(), open_to_all());
        // By another process: see the tests of the servers themselves.
        let (built, copied) = (env!("CARGO_BIN_EXE_stagefault"), program.path().join("stagefault"));
        let status = Command::new("cp").arg(built).arg(&copied).status().expect("it starts");
        assert!(status.success());
        let mut command = place.command_of(&copied, arguments.split_whitespace());
        if let Some((user, group)) = user {
            command.uid(user).gid(group);
        }
        let (results, writer) = full_pipe();
        let mut running = Running::start(command.stdout(Stdio::from(writer)));
        drop(command);
        running.wait_for("running postgres");
        let traces = Traces::of_running(&servers(&place)[0]);
        Held { place, running, results, traces, _program: program }
    }

    /// Lets it end, and waits for that.
    fn end(self) -> (Place, Traces, Ended) {
        let stdout = std::io::read_to_string(self.results).expect("text");
        let ended = Ended { stdout: stdout.trim_start().to_owned(), ..self.running.end() };
        (self.place, self.traces, ended)
    }
}

fn servers(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.temporary()).expect("a folder").flatten();
    let named = |path: &PathBuf| path.to_string_lossy().contains("stagefault-postgres-");
    entries.map(|entry| entry.path()).filter(named).collect()
}

#[test]
fn nothing_is_left_of_it_when_all_held() {
    for user in users() {
        let held = Held::start(user, "run --store postgres --ops 400 --seed 7 --out here");
        let (place, traces, ended) = held.end();
        let ended = ended.expect_status(0);
        assert!(ended.stdout.starts_with("held: 400 operations"), "{ended:#?}");
        traces.assert_gone();
        assert_eq!(place.files(), ["here/run.json", "here/summary.json"]);
        assert_eq!(place.json("here/summary.json")["store"], "postgres");
    }
}

#[test]
fn nothing_is_left_of_it_after_a_violation() {
    let flaw = "--flaw version-not-checked --seed 7";
    let held = Held::start(None, &format!("run --store postgres {flaw} --out here"));
    let (place, traces, ended) = held.end();
    ended.expect_status(1);
    traces.assert_gone();
    assert!(place.files().iter().all(|file| file.starts_with("here/")), "{:?}", place.files());
}

#[test]
fn nothing_is_left_of_it_after_a_signal() {
    let signals = [(Signal::INT, 130), (Signal::TERM, 143)];
    for (user, (signal, status)) in users().into_iter().cycle().zip(signals) {
        let mut held = Held::start(user, "run --store postgres --for 8h --out here");
        held.running.signal(signal);
        held.running.wait_for("stopping");
        let (place, traces, ended) = held.end();
        let ended = ended.expect_status(status);
        assert!(ended.stdout.starts_with("interrupted by "), "{ended:#?}");
        traces.assert_gone();
        assert_eq!(place.files(), ["here/run.json", "here/summary.json"]);
    }
}

/// Nobody waits for the guardian then, so it may take a moment.
#[test]
fn nothing_is_left_of_it_after_a_second_signal() {
    let user = users().pop().expect("somebody");
    let mut held = Held::start(user, "run --store postgres --for 8h --out here");
    held.running.signal(Signal::INT);
    held.running.wait_for("stopping");
    held.running.signal(Signal::INT);
    let (place, traces, ended) = held.end();
    ended.expect_status(130);
    traces.wait_until_gone();
    assert!(servers(&place).is_empty());
}

/// No code of ours runs after these: a crash, and the system's killing for want of memory.
#[test]
fn nothing_is_left_of_it_after_a_crash() {
    for signal in [Signal::ABORT, Signal::KILL] {
        let held = Held::start(None, "run --store postgres --for 8h --out here");
        held.running.signal(signal);
        let (place, traces, ended) = held.end();
        assert_eq!(ended.status, None, "{ended:#?}");
        traces.wait_until_gone();
        assert!(servers(&place).is_empty());
    }
}

#[test]
fn a_failure_replays_and_shrinks_on_servers_of_their_own() {
    let place = Place::new();
    let flaw = "--flaw version-not-checked";
    place.stagefault(&format!("run --store postgres {flaw} --seed 7 --out here")).expect_status(1);
    // The store is known from where the schedule comes from.
    let shrunk =
        place.stagefault(&format!("shrink here/failures/1/schedule.json {flaw} --out s.json"));
    let shrunk = shrunk.expect_status(1);
    assert!(shrunk.stdout.contains("version_monotonicity broken by Promote"), "{shrunk:#?}");
    let held = place.stagefault("replay here/failures s.json").expect_status(0);
    assert!(held.stdout.contains("2 operations on postgres)"), "{held:#?}");
    assert!(held.stdout.ends_with("2 schedules: 2 held, 0 failed\n"), "{held:#?}");
    assert!(servers(&place).is_empty());
}

#[test]
fn where_no_server_can_be_made_it_says_why_and_leaves_nothing() {
    let place = Place::new();
    let run = "exec stagefault run --store postgres --ops 200";
    let ended = place.shell(&format!("TMPDIR=/proc {run}"));
    ended.expect_error(3, &["cannot make the server's folder /proc/", "--url"]);
    let ended = place.shell(&format!("TMPDIR=/{} {run}", "long/".repeat(30)));
    ended.expect_error(3, &["too long a path", "--url"]);
    assert!(place.files().is_empty());
}

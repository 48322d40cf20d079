//! The guardian: a small process beside each server that outlives us and sees to its end.
//!
//! Against SIGKILL no handler of ours helps, so the server's end must not be ours to see to.
//! The guardian is a shell that makes the server's folder, runs `initdb` and the postmaster
//! as its own children, and reads commands from a pipe that only we hold open. The system
//! closes that pipe when we die, by whatever cause; then the guardian stops the server,
//! waits until the last of its processes has ended, and removes the folder. An ordinary end
//! is the same: we close the pipe, and wait.
//!
//! The guardian and the server form a process group of their own, for a Ctrl-C at the
//! terminal goes to the whole group in front, and would end them in disorder.
//!
//! As root, the guardian too runs as the server's user: it can then remove all that it made,
//! and signal nobody else's processes.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::ServerError;
use super::account::Account;
use super::binaries::Binaries;

const SCRIPT: &str = include_str!("guardian.sh");

/// How many of the lines that `initdb` or the system wrote are kept for an error.
const LINES_KEPT: usize = 20;

/// After the pipe is closed: the postmaster kills its last children after five seconds, and
/// then a folder of any size is removed. Past this we go on, and the guardian does too.
const END_LIMIT: Duration = Duration::from_secs(60);
/// How often we look whether it was killed.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What the guardian tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The server's folder could not be made.
    Unwritable,
    /// `initdb` failed.
    Failed,
    /// The server is made, and may be started.
    Made,
    /// The postmaster was started, as this process.
    Running(u32),
    /// The postmaster and all its children have ended.
    Gone,
}

/// What a guardian has to know of its server.
#[derive(Debug)]
pub(super) struct Charge {
    pub(super) folder: PathBuf,
    pub(super) binaries: Binaries,
    pub(super) account: Option<Account>,
    pub(super) settings: Vec<(String, String)>,
}

/// Our end of the guardian.
#[derive(Debug)]
pub(super) struct Guardian {
    charge: Charge,
    child: Child,
    /// Taken, and so closed, to end it all.
    commands: Option<ChildStdin>,
    /// Never locked: a receiver alone would keep the server out of a `static`.
    lines: Mutex<Receiver<String>>,
    said: VecDeque<String>,
}

impl Guardian {
    /// Starts the guardian, which at once begins to make the server, with a superuser whose
    /// password fits the verifier.
    pub(super) fn watch(charge: Charge, verifier: &str) -> Result<Self, ServerError> {
        let mut command = charge.shell("watch");
        command.arg(&charge.binaries.initdb);
        for (name, value) in &charge.settings {
            command.args(["-c", &format!("{name}={value}")]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(ServerError::NoGuardian)?;
        let commands = child.stdin.take();
        let lines = Mutex::new(read_lines(child.stdout.take()));
        let mut guardian = Guardian { charge, child, commands, lines, said: VecDeque::new() };
        // By the pipe: arguments can be seen by other users.
        guardian.tell(verifier)?;
        Ok(guardian)
    }

    /// Starts the postmaster, once the one before is gone.
    pub(super) fn start(&mut self, port: u16) -> Result<(), ServerError> {
        self.tell(&format!("start {port}"))
    }

    /// Sends the postmaster a signal, by its name. The guardian does it, for it is the parent.
    pub(super) fn signal(&mut self, signal: &str) -> Result<(), ServerError> {
        self.tell(&format!("signal {signal}"))
    }

    /// Kills what outlived the postmaster.
    pub(super) fn sweep(&mut self) -> Result<(), ServerError> {
        self.tell("sweep")
    }

    fn tell(&mut self, line: &str) -> Result<(), ServerError> {
        let commands = self.commands.as_mut().ok_or(ServerError::GuardianGone)?;
        commands.write_all(format!("{line}\n").as_bytes()).map_err(|_| ServerError::GuardianGone)
    }

    /// The next event; none if the time is over first.
    pub(super) fn next(&mut self, deadline: Instant) -> Result<Option<Event>, ServerError> {
        loop {
            let time = deadline.saturating_duration_since(Instant::now());
            let lines = self.lines.get_mut().unwrap_or_else(PoisonError::into_inner);
            match lines.recv_timeout(time) {
                Ok(line) => match parse(&line) {
                    Some(event) => return Ok(Some(event)),
                    None => self.keep(line),
                },
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(ServerError::GuardianGone),
            }
        }
    }

    fn keep(&mut self, line: String) {
        if self.said.len() == LINES_KEPT {
            self.said.pop_front();
        }
        self.said.push_back(line);
    }

    /// How it ended; none if it goes on past the limit.
    fn wait_for_end(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + END_LIMIT;
        while Instant::now() < deadline {
            // It is the last to hold its output open: once that has ended, so has it.
            if self.next(Instant::now() + LOOK_AGAIN).is_err() {
                return self.child.wait().ok();
            }
            // Unless it was killed: its children are alive, and nobody tells us.
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
        }
        None
    }

    /// The last lines that were no events.
    pub(super) fn said(&mut self) -> String {
        self.said.make_contiguous().join("\n")
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.commands.take());
        if self.wait_for_end().is_some_and(|status| !status.success()) {
            // Somebody killed it: what it would have done is still to do.
            let _ = self.charge.shell("clear").stdin(Stdio::null()).stdout(Stdio::null()).status();
        }
    }
}

impl Charge {
    /// The guardian's shell, in its own process group and as the server's user.
    fn shell(&self, mode: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        // Through the environment, so that a list of processes stays readable.
        command.env("GUARDIAN", SCRIPT);
        command.args(["-c", "eval \"$GUARDIAN\"", "stagefault-guardian", mode]);
        command.arg(&self.folder).arg(&self.binaries.postgres);
        command.stderr(Stdio::null()).current_dir("/").process_group(0);
        if let Some(account) = &self.account {
            // Standard library: changing the user, root also gives up its other groups.
            command.uid(account.user).gid(account.group);
        }
        for (name, _) in env::vars_os() {
            // PGDATA, PGPORT and their like are meant for other servers.
            if name.as_encoded_bytes().starts_with(b"PG") {
                command.env_remove(name);
            }
        }
        // Messages that we know; and `initdb` need not find out the time zone, which takes
        // it longer than all the rest.
        command.env("LC_ALL", "C").env("TZ", "UTC");
        command
    }
}

/// Reads the guardian's lines on a thread, for a pipe cannot be read with a time limit.
fn read_lines(output: Option<ChildStdout>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in output.into_iter().flat_map(|output| BufReader::new(output).split(b'\n')) {
            let Ok(line) = line else { break };
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

fn parse(line: &str) -> Option<Event> {
    Some(match line.strip_prefix('@')? {
        "unwritable" => Event::Unwritable,
        "failed" => Event::Failed,
        "made" => Event::Made,
        "gone" => Event::Gone,
        other => Event::Running(other.strip_prefix("running ")?.parse().ok()?),
    })
}

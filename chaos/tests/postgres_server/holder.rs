//! Other processes that hold a server (examples/hold_server.rs), to be ended in all ways.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use tempfile::TempDir;

/// A process that starts a server and holds it.
pub struct Holder {
    child: Child,
    /// Its program, where an ordinary user can reach it.
    _program: TempDir,
}

/// Who a holder runs as: a user and a group.
pub type User = Option<(u32, u32)>;

/// Ourselves, and if we are root, an ordinary user too.
pub fn users() -> Vec<User> {
    if geteuid().is_root() { vec![None, Some(nobody())] } else { vec![None] }
}

impl Holder {
    /// Starts one, in a process group of its own, as a shell does it at a terminal.
    pub fn start(user: User, parent: Option<&Path>) -> Self {
        let program = open_to_all();
        // By another process: a file that we had open to write, a process that another test
        // starts meanwhile would inherit, and a file open to write cannot be run.
        let copied = Command::new("cp").arg(example()).arg(program.path()).status().unwrap();
        assert!(copied.success());
        // Tests that run in the background of a shell inherit that SIGINT is ignored.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(program.path().join("hold_server"));
        command.args(parent).process_group(0).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some((user, group)) = user {
            command.uid(user).gid(group);
        }
        Holder { child: command.spawn().unwrap(), _program: program }
    }

    /// Waits until its server is ready, and says where the server's folder is.
    pub fn folder(&mut self) -> PathBuf {
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        match line.trim_end().split_once(' ') {
            Some((_, folder)) => folder.into(),
            None => panic!("the holder has no server: {}", self.said()),
        }
    }

    fn said(&mut self) -> String {
        std::io::read_to_string(self.child.stderr.as_mut().unwrap()).unwrap()
    }

    pub fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Signals all its process group, as the terminal does on Ctrl-C.
    pub fn signal(&self, signal: Signal) {
        let group = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process_group(group, signal).unwrap();
    }

    /// Waits until it has ended; how, and what it had to say.
    pub fn end(self) -> (ExitStatus, String) {
        let output = self.child.wait_with_output().unwrap();
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A new folder in which every user can make things, as in /tmp.
pub fn open_to_all() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    folder
}

/// Cargo builds the examples before it runs all tests, beside the folder that we are in.
fn example() -> PathBuf {
    let ourselves = std::env::current_exe().unwrap();
    let example = ourselves.ancestors().nth(2).unwrap().join("examples/hold_server");
    let hint = "run first: cargo build -p stagefault-chaos --examples";
    assert!(example.exists(), "{} is not built; {hint}", example.display());
    example
}

fn nobody() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let fields = users.lines().find_map(|line| line.strip_prefix("nobody:")).unwrap();
    let mut numbers = fields.split(':').skip(1).map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

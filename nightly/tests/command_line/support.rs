//! Running the binary in a folder of a test's own.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A folder that the command runs in, with another one for its temporary files.
pub struct Place {
    folder: TempDir,
    temporary: TempDir,
}

/// A command that ended.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A command that runs.
pub struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    seen: String,
}

impl Place {
    pub fn new() -> Self {
        Place { folder: open_to_all(), temporary: open_to_all() }
    }

    /// The folder for temporary files.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// The command with these arguments, not started yet.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_stagefault")), arguments)
    }

    /// The same by another copy of the program.
    pub fn command_of<S: AsRef<OsStr>>(
        &self,
        program: &Path,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(arguments);
        self.settle(&mut command);
        command
    }

    /// A line for the shell, in which `stagefault` is the command under test.
    pub fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("sh");
        command.arg("-c").arg(line);
        let programs = Path::new(env!("CARGO_BIN_EXE_stagefault")).parent().expect("a folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(
            [programs.to_owned()].into_iter().chain(std::env::split_paths(&path)),
        );
        command.env("PATH", path.expect("folders without colons"));
        self.settle(&mut command);
        ended(&mut command)
    }

    fn settle(&self, command: &mut Command) {
        command.current_dir(self.folder.path()).env("TMPDIR", self.temporary.path());
        command.stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name == "RUST_LOG" || name.starts_with("PG") || name.starts_with("STAGEFAULT_") {
                command.env_remove(&*name);
            }
        }
    }

    /// Runs the command to its end; the arguments are separated by spaces.
    pub fn stagefault(&self, arguments: &str) -> Ended {
        ended(&mut self.command(arguments.split_whitespace()))
    }

    /// Starts the command.
    pub fn start(&self, arguments: &str) -> Running {
        let mut command = self.command(arguments.split_whitespace());
        Running::start(command.stdout(Stdio::piped()))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, content).expect("it can be written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("JSON")
    }

    /// All files and empty folders, hidden and temporary ones too.
    pub fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        for root in [self.folder.path(), self.temporary.path()] {
            collect(root, root, &mut files);
        }
        files.sort();
        files
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        let is_full = path.is_dir() && fs::read_dir(&path).expect("a folder").next().is_some();
        if is_full {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("it is below");
            files.push(name.to_string_lossy().into_owned());
        }
    }
}

/// A new folder in which every user can make things, as in /tmp: a PostgreSQL server is run
/// by another one than root.
pub fn open_to_all() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let everybody = Permissions::from_mode(0o1777);
    fs::set_permissions(folder.path(), everybody).expect("it is ours");
    folder
}

/// The writing end of a pipe that is full: who writes to it stands still.
pub fn full_pipe() -> (std::io::PipeReader, OwnedFd) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut writer = File::from(OwnedFd::from(writer));
    ioctl_fionbio(&writer, true).expect("it is a pipe");
    for chunk in [4096, 1] {
        while match writer.write(&vec![b'\n'; chunk]) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(Errno::AGAIN.raw_os_error()));
                false
            }
        } {}
    }
    ioctl_fionbio(&writer, false).expect("it is a pipe");
    (reader, writer.into())
}

/// Runs the command to its end.
pub fn ended(command: &mut Command) -> Ended {
    let output = command.output().expect("it starts");
    Ended {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

impl Ended {
    #[track_caller]
    pub fn expect_status(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    /// It ended with this status, said why in one line that holds all these words, and
    /// printed nothing else.
    #[track_caller]
    pub fn expect_error(self, status: i32, words: &[&str]) -> Self {
        let ended = self.expect_status(status);
        let errors: Vec<&str> =
            ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{ended:#?}");
        for word in words {
            assert!(errors[0].contains(word), "no {word:?} in {ended:#?}");
        }
        assert_eq!(ended.stdout, "");
        ended
    }

    /// The value of a line such as `name: value` in the results.
    #[track_caller]
    pub fn line(&self, name: &str) -> &str {
        let mut lines = self.stdout.lines();
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_else(|| panic!("no {name:?} in {self:#?}"))
    }
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        Running { child, stderr, seen: String::new() }
    }

    /// Waits for a line on standard error that holds this.
    #[track_caller]
    pub fn wait_for(&mut self, words: &str) {
        loop {
            let start = self.seen.len();
            let read = self.stderr.read_line(&mut self.seen).expect("text");
            assert!(read > 0, "it ended without {words:?}: {}", self.seen);
            if self.seen[start..].contains(words) {
                return;
            }
        }
    }

    /// Waits for a line on standard output.
    #[track_caller]
    pub fn line(&mut self) -> String {
        let stdout = self.child.stdout.as_mut().expect("it is piped");
        let mut line = Vec::new();
        let mut byte = [0];
        // Byte by byte, so that what follows is still there for the end.
        while stdout.read(&mut byte).expect("a pipe") > 0 {
            if byte == *b"\n" {
                return String::from_utf8(line).expect("text");
            }
            line.extend(byte);
        }
        panic!("it ended without a line: {}", String::from_utf8_lossy(&line));
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is ours");
    }

    /// Nobody reads its results any more.
    pub fn close_stdout(&mut self) {
        self.child.stdout = None;
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        self.stderr.read_to_string(&mut self.seen).expect("text");
        let mut stdout = String::new();
        if let Some(mut pipe) = self.child.stdout.take() {
            pipe.read_to_string(&mut stdout).expect("text");
        }
        let status = self.child.wait().expect("it is ours").code();
        Ended { status, stdout, stderr: self.seen }
    }
}

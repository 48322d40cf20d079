//! A throw-away PostgreSQL server, as its owner sees it.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::account::Account;
use super::binaries::Binaries;
use super::guardian::{Charge, Event, Guardian};
use super::password::Password;
use super::place::{as_host, free_port, new_folder};
use super::{Listen, Options, ServerError};

/// The superuser, and the only user. Named in the guardian's script too.
const USER: &str = "stagefault";
/// The database that every new server has.
const DATABASE: &str = "postgres";
/// What the socket is named after where no port is opened: any number would do.
const SOCKET_PORT: u16 = 5432;

/// Another process may take a port after we found it free; hardly so often in a row.
const PORT_TRIES: u32 = 10;
/// What the server says, in the C locale, when its port was taken.
const PORT_TAKEN: &str = "could not create any TCP/IP sockets";

/// How long `initdb`, a start with crash recovery, or a stop may take on a slow machine.
const LIMIT: Duration = Duration::from_secs(60);
/// How long processes may outlive a killed postmaster. Most end at once; one that computes
/// and neither waits nor reads does not notice.
const AFTERLIFE: Duration = Duration::from_secs(5);
/// How often the pid file is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How much of the log's end an error quotes.
const LOG_LINES: usize = 20;

/// A PostgreSQL server of one's own.
///
/// It blocks: start it, and let it go, where a thread may wait for up to a second. Dropped,
/// it is stopped and removed with all its data.
///
/// ```no_run
/// use stagefault_chaos::servers::{Options, PostgresServer};
///
/// let mut server = PostgresServer::start(Options::default())?;
/// println!("connect to {}", server.redacted_url());
/// server.kill()?;
/// server.start_again()?;
/// # Ok::<(), stagefault_chaos::servers::ServerError>(())
/// ```
#[derive(Debug)]
pub struct PostgresServer {
    guardian: Guardian,
    password: Password,
    folder: PathBuf,
    listen: Listen,
    port: u16,
    postmaster: Option<u32>,
}

impl PostgresServer {
    /// Makes a server and waits until it is ready.
    pub fn start(options: Options) -> Result<Self, ServerError> {
        let folder = new_folder(options.parent.as_deref())?;
        let charge = Charge {
            folder: folder.clone(),
            binaries: Binaries::find(options.binaries.as_deref())?,
            account: Account::for_server()?,
            settings: options.effective_settings(),
        };
        let password = Password::generate();
        let guardian = Guardian::watch(charge, &password.verifier())?;
        let (listen, port) = (options.listen, SOCKET_PORT);
        let mut server = Self { guardian, password, folder, listen, port, postmaster: None };
        server.wait_until_made()?;
        match listen {
            Listen::Socket => server.launch()?,
            Listen::Loopback => server.launch_on_a_free_port()?,
        }
        Ok(server)
    }

    /// Starts it again on the same data and port, after it was stopped or killed.
    pub fn start_again(&mut self) -> Result<(), ServerError> {
        self.take_note()?;
        match self.postmaster {
            Some(pid) => Err(ServerError::Running(pid)),
            None => self.launch(),
        }
    }

    /// Stops it in order: clients are cut off, open transactions rolled back, all is written.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.end_by("INT")
    }

    /// Stops it at once, with nothing written: the next start recovers as after a crash.
    pub fn stop_immediate(&mut self) -> Result<(), ServerError> {
        self.end_by("QUIT")
    }

    /// Kills the postmaster with SIGKILL, and waits until its children have ended too.
    ///
    /// They notice and end by themselves, and until they do, a commit may still succeed. A
    /// child that does not notice for five seconds is killed as well.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        self.take_note()?;
        if self.postmaster.is_some() {
            self.guardian.signal("KILL")?;
            if !self.is_gone_within(AFTERLIFE)? {
                self.guardian.sweep()?;
                self.wait_until_gone()?;
            }
        }
        Ok(())
    }

    /// How to connect as the superuser, password included: by the port if there is one, else
    /// by the socket. Not for logs: see [`redacted_url`](Self::redacted_url).
    pub fn url(&self) -> String {
        self.url_with(self.password.reveal())
    }

    /// The same without the password.
    pub fn redacted_url(&self) -> String {
        self.url_with("***")
    }

    /// The server's own folder, which holds its socket.
    pub fn socket_dir(&self) -> &Path {
        &self.folder
    }

    /// The port on 127.0.0.1, if one was asked for; in any case the socket is named after it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The postmaster's process; none after it was stopped or killed.
    pub fn pid(&self) -> Option<u32> {
        self.postmaster
    }

    fn url_with(&self, password: &str) -> String {
        let host = match self.listen {
            Listen::Socket => as_host(self.folder.as_os_str()),
            Listen::Loopback => Ipv4Addr::LOCALHOST.to_string(),
        };
        format!("postgres://{USER}:{password}@{host}:{}/{DATABASE}", self.port)
    }

    fn wait_until_made(&mut self) -> Result<(), ServerError> {
        let event = self.guardian.next(Instant::now() + LIMIT)?;
        let said = self.guardian.said();
        let folder = self.folder.clone();
        match event {
            Some(Event::Made) => Ok(()),
            Some(Event::Unwritable) => Err(ServerError::FolderNotMade { folder, said }),
            Some(_) => Err(ServerError::InitialisationFailed { said }),
            None => {
                let said = format!("{said}\n(not done after {LIMIT:?})");
                Err(ServerError::InitialisationFailed { said })
            }
        }
    }

    fn launch_on_a_free_port(&mut self) -> Result<(), ServerError> {
        for _ in 1..PORT_TRIES {
            self.port = free_port();
            match self.launch() {
                Err(ServerError::NotReady { log, .. }) if log.contains(PORT_TAKEN) => {}
                done => return done,
            }
        }
        self.port = free_port();
        self.launch()
    }

    /// Starts the postmaster and waits until it is ready.
    ///
    /// It says so in its pid file, and tells nobody: so that is looked at, while the guardian
    /// is listened to, who tells at once if the postmaster ends instead.
    fn launch(&mut self) -> Result<(), ServerError> {
        self.guardian.start(self.port)?;
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline {
            match self.guardian.next(Instant::now() + LOOK_AGAIN)? {
                Some(Event::Running(pid)) => self.postmaster = Some(pid),
                Some(Event::Gone) => {
                    self.postmaster = None;
                    return Err(self.not_ready("ended instead of becoming ready".to_owned()));
                }
                _ if self.is_ready() => return Ok(()),
                _ => {}
            }
        }
        Err(self.not_ready(format!("was not ready after {LIMIT:?}")))
    }

    /// Whether the pid file is this postmaster's and its status line, the eighth, says so.
    fn is_ready(&self) -> bool {
        let text = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
        let mut lines = text.lines().map(str::trim);
        let pid = lines.next().and_then(|pid| pid.parse().ok());
        pid.is_some() && pid == self.postmaster && lines.nth(6) == Some("ready")
    }

    fn not_ready(&self, how: String) -> ServerError {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        let log = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
        ServerError::NotReady { how, log }
    }

    fn end_by(&mut self, signal: &str) -> Result<(), ServerError> {
        self.take_note()?;
        match self.postmaster {
            None => Ok(()),
            Some(_) => self.guardian.signal(signal).and_then(|()| self.wait_until_gone()),
        }
    }

    fn wait_until_gone(&mut self) -> Result<(), ServerError> {
        if self.is_gone_within(LIMIT)? { Ok(()) } else { Err(ServerError::NotStopped(LIMIT)) }
    }

    /// Takes note of an end that we did not bring about.
    fn take_note(&mut self) -> Result<(), ServerError> {
        self.is_gone_within(Duration::ZERO).map(drop)
    }

    fn is_gone_within(&mut self, limit: Duration) -> Result<bool, ServerError> {
        let deadline = Instant::now() + limit;
        while self.postmaster.is_some() {
            match self.guardian.next(deadline)? {
                Some(Event::Gone) => self.postmaster = None,
                Some(_) => {}
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_told_from_other_failures() {
        let options = Options { listen: Listen::Loopback, ..Options::default() };
        let first = PostgresServer::start(options.clone()).unwrap();
        let mut second = PostgresServer::start(options).unwrap();
        second.stop().unwrap();
        let own_port = std::mem::replace(&mut second.port, first.port);
        let Err(ServerError::NotReady { log, .. }) = second.start_again() else {
            panic!("two servers on one port");
        };
        assert!(log.contains(PORT_TAKEN), "{log}");
        second.port = own_port;
        second.start_again().unwrap();
    }
}

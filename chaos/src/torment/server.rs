//! A throw-away server that is killed and started again while writers work on it.
//!
//! An outage begins with a blow, and ends when whoever struck it lets go of it. Killing,
//! waiting and starting again is the work of one thread, so that no future that is dropped
//! in the middle leaves the server down; and there is one outage at a time.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use stagefault_models::BackendError;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::servers::{Durability, Listen, Options, PostgresServer, ServerError};

/// How long a server may be away: it starts within [`PostgresServer`]'s own limits, each of
/// which is shorter.
const LONGEST_OUTAGE: Duration = Duration::from_secs(150);

/// A throw-away PostgreSQL server that may be killed.
pub struct MortalServer {
    server: Mutex<PostgresServer>,
    url: String,
    location: String,
    folder: PathBuf,
    state: watch::Sender<State>,
    /// How many outages were wanted.
    outages: AtomicU64,
}

/// How a server is brought down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    /// SIGKILL to the postmaster.
    Kill,
    /// An immediate shutdown.
    Stop,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// It is about to go down, or down, for the time of this number.
    Falling(u64),
    Down(u64),
    /// It does not come back, because of this.
    Lost(String),
}

/// The time until this is dropped, in which the server stays down.
pub(super) struct Outage {
    /// Dropped, it lets the thread go on that starts the server again.
    _release: mpsc::Sender<()>,
}

/// Which outages a writer has met.
#[derive(Debug, Default)]
pub(super) struct Met(u64);

impl MortalServer {
    /// Starts a server whose acknowledged commits survive that it is killed, with a port for
    /// proxies to lead to. It blocks for up to a second.
    ///
    /// # Errors
    /// That there is none to be had.
    pub fn start() -> Result<Arc<Self>, ServerError> {
        MortalServer::start_with(Options::default())
    }

    /// The same with further options; where it listens and what survives stay as they are.
    ///
    /// # Errors
    /// That there is none to be had.
    pub fn start_with(options: Options) -> Result<Arc<Self>, ServerError> {
        let (listen, durability) = (Listen::Loopback, Durability::SurvivesKill);
        let server = PostgresServer::start(Options { listen, durability, ..options })?;
        let (url, location) = (server.url(), server.redacted_url());
        let state = watch::Sender::new(State::Up);
        let folder = server.socket_dir().to_owned();
        let (server, outages) = (Mutex::new(server), AtomicU64::new(0));
        Ok(Arc::new(MortalServer { server, url, location, folder, state, outages }))
    }

    /// How to connect as the superuser, password included. Not for logs.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's own folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Brings the server down, when it is up. It is down when this returns; `None`: it could
    /// not be, or never will be up again.
    pub(super) async fn strike(self: &Arc<Self>, blow: Blow) -> Option<Outage> {
        let number = self.claim().await?;
        let (release, released) = mpsc::channel();
        let outage = Outage { _release: release };
        let server = self.clone();
        thread::spawn(move || server.go_through(blow, number, &released));
        let mut state = self.state.subscribe();
        let state = state.wait_for(|state| *state != State::Falling(number)).await.ok()?;
        (*state == State::Down(number)).then_some(outage)
    }

    /// Waits until no other outage is on, and claims the next one.
    async fn claim(&self) -> Option<u64> {
        let number = self.outages.fetch_add(1, Ordering::Relaxed) + 1;
        let mut state = self.state.subscribe();
        loop {
            let claimed = self.state.send_if_modified(|state| {
                let is_up = *state == State::Up;
                if is_up {
                    *state = State::Falling(number);
                }
                is_up
            });
            if claimed {
                return Some(number);
            }
            if matches!(*state.borrow_and_update(), State::Lost(_)) {
                return None;
            }
            state.changed().await.ok()?;
        }
    }

    /// An outage, from the blow to the end.
    fn go_through(&self, blow: Blow, number: u64, released: &mpsc::Receiver<()>) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let struck = match blow {
            Blow::Kill => server.kill(),
            Blow::Stop => server.stop_immediate(),
        };
        let back = struck.and_then(|()| {
            self.state.send_replace(State::Down(number));
            // Nothing is ever sent: it returns when the other end is dropped.
            let _ = released.recv();
            server.start_again()
        });
        self.state.send_replace(match back {
            Ok(()) => State::Up,
            Err(error) => State::Lost(error.to_string().replace('\n', " ")),
        });
    }

    /// Meets an outage that is on, as a writer does who comes then: the first operation finds
    /// that nobody answers, the next one waits until the server is back.
    pub(super) async fn endure(&self, met: &mut Met) {
        let down = match *self.state.borrow() {
            State::Down(number) => number,
            State::Up | State::Falling(_) | State::Lost(_) => return,
        };
        if met.0 == down {
            let mut state = self.state.subscribe();
            // It fails only without a sender, which is ours.
            let _ = state.wait_for(|state| *state != State::Down(down)).await;
        }
        met.0 = down;
    }

    /// Waits until it is up.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] when it does not come back.
    pub(super) async fn until_up(&self) -> Result<(), BackendError> {
        let mut state = self.state.subscribe();
        let over = state.wait_for(|state| matches!(state, State::Up | State::Lost(_)));
        let reason = match timeout(LONGEST_OUTAGE, over).await {
            Ok(Ok(state)) => match &*state {
                State::Lost(reason) => {
                    format!("it did not come back after it was killed: {reason}")
                }
                _ => return Ok(()),
            },
            Ok(Err(_)) | Err(_) => format!("it was not back after {LONGEST_OUTAGE:?}"),
        };
        Err(BackendError::Unreachable { location: self.location.clone(), reason })
    }
}

impl fmt::Debug for MortalServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("MortalServer");
        shown.field("location", &self.location).field("state", &*self.state.borrow()).finish()
    }
}

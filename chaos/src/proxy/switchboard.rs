//! What a line's connections and its owner share: the sessions, and the fault.
//!
//! All of it is under one lock, which is never held while something waits. Whoever waits
//! for a change looks again after each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::fault::{Kind, WireFault, WireReceipt};
use super::faults::Faults;
use super::session::{Ending, Session, Step};

/// The sessions of a line, and its fault.
#[derive(Debug, Default)]
pub(crate) struct Switchboard {
    board: Mutex<Board>,
    changed: watch::Sender<()>,
}

/// What is under the lock.
#[derive(Debug, Default)]
pub(super) struct Board {
    pub(super) faults: Faults,
    connections: HashMap<u64, Connection>,
    used: Used,
    /// The number of the last connection that the server has begun to serve.
    present: u64,
    last: u64,
}

/// Which connections the present operation uses.
///
/// A client that gives one up may have sent something on it just before, which arrives when
/// the next operation has begun.
#[derive(Clone, Copy, Debug, Default)]
enum Used {
    /// Any, as far as it is known.
    #[default]
    Any,
    /// This one, and those that were made after the operation began.
    Only { connection: Option<u64>, after: u64 },
}

impl Used {
    fn has(self, number: u64) -> bool {
        match self {
            Used::Any => true,
            Used::Only { connection, after } => connection == Some(number) || number > after,
        }
    }
}

#[derive(Debug, Default)]
struct Connection {
    session: Session,
    ending: Option<Ending>,
}

impl Board {
    /// Whether a session holds something.
    pub(super) fn holds(&self) -> bool {
        self.connections.values().any(|connection| connection.session.holds())
    }

    /// The connection that this backend serves.
    fn served_by(&self, backend: i32) -> Option<u64> {
        let serves = |connection: &Connection| connection.session.backend() == Some(backend);
        let served = self.connections.iter().filter(|(_, connection)| serves(connection));
        // The last, for the server may give a process id again.
        served.map(|(number, _)| *number).max()
    }

    /// The last connection that the operation uses, once the server has begun to serve it.
    fn present(&self) -> Option<u64> {
        Some(self.present).filter(|number| self.used.has(*number))
    }

    /// A connection's session. It is there as long as the connection is served.
    fn session(&mut self, number: u64) -> (&mut Session, &mut Faults) {
        (&mut self.connections.entry(number).or_default().session, &mut self.faults)
    }
}

impl Switchboard {
    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to what is shared, and lets those who wait look at it.
    fn change<T>(&self, change: impl FnOnce(&mut Board) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.send_replace(());
        changed
    }

    /// The same for what is passed on, which changes nothing that anybody waits for until a
    /// fault fires.
    fn pass<T>(&self, pass: impl FnOnce(&mut Board) -> T) -> T {
        let mut board = self.lock();
        let had_fired = board.faults.has_fired();
        let passed = pass(&mut board);
        let fires = board.faults.has_fired() != had_fired;
        drop(board);
        if fires {
            self.changed.send_replace(());
        }
        passed
    }

    /// Waits until this finds what it looks for.
    pub(super) async fn until<T>(&self, mut look: impl FnMut(&Board) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(found) = look(&self.lock()) {
                return found;
            }
            // It lives as long as we do, so there is always a next change to wait for.
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn with_faults<T>(&self, change: impl FnOnce(&mut Faults) -> T) -> T {
        self.change(|board| change(&mut board.faults))
    }

    /// An operation begins on whatever connection, with this fault.
    pub(super) fn arm(&self, fault: WireFault) {
        self.change(|board| {
            board.used = Used::Any;
            board.faults.arm(fault);
        });
    }

    /// An operation begins on the connection that this backend serves, or on a new one.
    pub(super) fn begin(&self, backend: Option<i32>, fault: Option<WireFault>) {
        self.change(|board| {
            let connection = backend.and_then(|backend| board.served_by(backend));
            board.used = Used::Only { connection, after: board.last };
            match fault {
                Some(fault) => board.faults.arm(fault),
                None => drop(board.faults.disarm()),
            }
        });
    }

    /// The operation has ended.
    pub(super) fn disarm(&self) -> Option<WireReceipt> {
        self.change(|board| {
            board.used = Used::Any;
            board.faults.disarm()
        })
    }

    /// The process id of the present connection's backend.
    pub(super) fn backend(&self) -> Option<i32> {
        let board = self.lock();
        board.connections.get(&board.present()?)?.session.backend()
    }

    /// Does this to the present connection.
    pub(super) fn strike(&self, kind: Kind) {
        self.change(|board| {
            let Some(present) = board.present() else { return };
            if let Some(connection) = board.connections.get_mut(&present) {
                // One that is to end ends, whatever comes after that.
                let ending = connection.session.strike(kind, &mut board.faults);
                connection.ending = connection.ending.or(ending);
            }
        });
    }

    /// Lets go what is held.
    pub(crate) fn go_on(&self) {
        self.change(|board| {
            board.connections.values_mut().for_each(|connection| connection.session.go_on());
        });
    }

    /// Ends the connections that a fault keeps.
    pub(super) fn heal(&self) {
        self.end(|session| session.holds() || session.swallows());
        self.with_faults(|faults| faults.gave_up());
    }

    /// Ends those that swallow everything.
    pub(crate) fn close_black_holes(&self) {
        self.end(Session::swallows);
    }

    fn end(&self, which: impl Fn(&Session) -> bool) {
        self.change(|board| {
            for connection in board.connections.values_mut() {
                if which(&connection.session) {
                    connection.session.give_up();
                    connection.ending = Some(Ending::Close);
                }
            }
        });
    }

    /// A connection begins; the answer is its number.
    pub(super) fn connect(&self) -> u64 {
        self.change(|board| {
            board.last += 1;
            board.connections.insert(board.last, Connection::default());
            board.last
        })
    }

    /// A connection has ended.
    pub(super) fn disconnect(&self, number: u64) {
        self.change(|board| {
            let ended = board.connections.remove(&number);
            if ended.is_some_and(|connection| connection.session.holds()) {
                board.faults.gave_up();
            }
        });
    }

    /// What is to be done with what a client has sent.
    pub(super) fn client_sent(&self, number: u64, bytes: &[u8]) -> Vec<Step> {
        self.pass(|board| {
            let is_used = board.used.has(number);
            let (session, faults) = board.session(number);
            match is_used {
                true => session.client_sent(bytes, faults),
                false => session.client_sent(bytes, &mut faults.of_the_past()),
            }
        })
    }

    /// What is to be done with what a server has sent.
    pub(super) fn server_sent(&self, number: u64, bytes: &[u8]) -> Vec<Step> {
        self.pass(|board| {
            let (session, faults) = board.session(number);
            let steps = session.server_sent(bytes, faults);
            let is_known = session.backend().is_some();
            // One that only cancels never becomes the present one.
            if is_known && number > board.present {
                board.present = number;
            }
            steps
        })
    }

    /// A whole commit of this operation was passed to the server.
    pub(super) fn commit_passed(&self, operation: u64) {
        self.lock().faults.delivered(operation);
    }

    /// What a connection held has been passed on.
    pub(super) fn released(&self, number: u64) {
        self.change(|board| board.session(number).0.released());
    }

    /// Waits until what a connection holds is to be passed on.
    pub(super) async fn may_go_on(&self, number: u64) {
        let may = |board: &Board| board.connections.get(&number)?.session.may_go_on().then_some(());
        self.until(may).await;
    }

    /// Whether a connection swallows everything.
    pub(super) fn swallows(&self, number: u64) -> bool {
        self.lock().session(number).0.swallows()
    }

    /// Waits until the owner ends a connection.
    pub(super) async fn ended(&self, number: u64) -> Ending {
        self.until(|board| board.connections.get(&number)?.ending).await
    }
}

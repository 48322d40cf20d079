//! A line: a port of its own in front of one server, for one writer.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::connection::{self, Upstream};
use super::fault::{Answer, Kind, WireFault, WireReceipt};
use super::switchboard::Switchboard;

/// A port on 127.0.0.1 whose connections lead to one server, and can be made to fail at a
/// place of an operation.
///
/// A line is one writer's, so that "the next COMMIT" is this writer's. A connection that
/// failed does not return; the next one that the writer makes works.
///
/// What is encrypted it cannot read: connect without TLS (`sslmode=disable`, or `prefer`
/// with a server that has none). When the server is not there, a connection is accepted
/// and reset. Dropped, a line closes its port and ends its connections.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// use stagefault_chaos::proxy::{Commit, Kind, Line, Place, Upstream, WireFault};
///
/// let line = Line::open(Upstream::Tcp(([127, 0, 0, 1], 5432).into())).await?;
/// println!("connect to postgres://user@127.0.0.1:{}/database", line.port());
/// line.arm(WireFault { place: Place::CommitDelivered, kind: Kind::Reset });
/// // Here the writer does an operation, and its COMMIT is answered by a reset.
/// if let Some(receipt) = line.disarm() {
///     assert_eq!(receipt.commit, Commit::Delivered);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Line {
    port: u16,
    switchboard: Arc<Switchboard>,
    accepting: JoinHandle<()>,
}

impl Line {
    /// Opens a port in front of a server. It must be called within a tokio runtime, whose
    /// tasks the connections are.
    ///
    /// # Errors
    /// The system's, when it gives no port.
    pub async fn open(upstream: Upstream) -> io::Result<Line> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let switchboard = Arc::new(Switchboard::default());
        let accepting = tokio::spawn(accept(listener, upstream, switchboard.clone()));
        Ok(Line { port, switchboard, accepting })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the backend that serves the present connection, as
    /// `pg_backend_pid()` has it; `None` without one that has begun and is the operation's.
    pub fn backend(&self) -> Option<i32> {
        self.switchboard.backend()
    }

    /// An operation begins, and meets this fault if it comes to its place. It fires once.
    pub fn arm(&self, fault: WireFault) {
        self.switchboard.arm(fault);
    }

    /// The same for a writer who knows by which backend its connection is served: the
    /// operation uses that one, or where there is none one that is yet to be made. What still
    /// comes on others, which were given up with something on the way, meets no fault and is
    /// in no receipt; nor are they cut.
    pub fn begin(&self, backend: Option<i32>, fault: Option<WireFault>) {
        self.switchboard.begin(backend, fault);
    }

    /// The next statement is the operation's commit, whatever its text says: for one that
    /// calls a function that writes, and for callers who know.
    ///
    /// Without it the commit is a COMMIT, or outside a transaction a statement that has
    /// INSERT, UPDATE, DELETE or MERGE as a word outside of literals, or changes the schema.
    pub fn next_is_commit(&self) {
        self.switchboard.with_faults(|faults| faults.next_is_commit());
    }

    /// Returns when the fault of this operation has fired.
    pub async fn fired(&self) -> WireReceipt {
        self.switchboard.until(|board| board.faults.receipt()).await
    }

    /// What the server has answered to the operation's last commit, whether a fault has fired
    /// or not.
    pub fn answer(&self) -> Option<Answer> {
        self.switchboard.with_faults(|faults| faults.answer())
    }

    /// The operation has ended. If its fault fired, this is what it met; if not, it does not
    /// fire any more. What is held stays held until [`go_on`](Line::go_on).
    pub fn disarm(&self) -> Option<WireReceipt> {
        self.switchboard.disarm()
    }

    /// Does this to the present connection, in the middle of an operation that may have
    /// begun without a fault. After it has returned, not a byte is passed on by a connection
    /// that is cut. A delay or a truncation meets the next request.
    pub fn cut_now(&self, kind: Kind) {
        self.switchboard.strike(kind);
    }

    /// Lets go what is held, and returns when it has been passed on, with the receipt as it
    /// is then.
    pub async fn go_on(&self) -> Option<WireReceipt> {
        self.switchboard.go_on();
        self.switchboard.until(|board| (!board.holds()).then_some(())).await;
        self.switchboard.with_faults(|faults| faults.late_receipt())
    }

    /// Ends the connections that a fault keeps open: those that swallow everything, and those
    /// that hold something, which is never delivered. New connections work in any case.
    pub fn heal(&self) {
        self.switchboard.heal();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Serves every connection that comes. The connections end with this task.
async fn accept(listener: TcpListener, upstream: Upstream, switchboard: Arc<Switchboard>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            client = connection::next_client(&listener) => {
                connections.spawn(connection::serve(client, upstream.clone(), switchboard.clone()));
            }
        }
    }
}

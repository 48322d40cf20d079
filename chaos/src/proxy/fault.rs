//! What a line can do to an operation, and what it tells of it.

use std::time::Duration;

/// A fault on the wire: what happens to a connection, and where in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WireFault {
    /// Where it happens.
    pub place: Place,
    /// What happens.
    pub kind: Kind,
}

/// A place in what a client and a server say to each other within one operation.
///
/// Statements are counted from 1 since the fault was armed, without BEGIN, COMMIT, ROLLBACK,
/// SET and savepoints. At the places of the first four kinds nothing of the request reaches
/// the server, but for what the fault's kind lets through; at those of the last three
/// the request was delivered whole, and the server's answer to it has arrived at the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// With the client's next request, or at once where the kind needs none.
    Now,
    /// A BEGIN has arrived and is not delivered.
    BeforeBegin,
    /// The k-th statement has arrived and is not delivered.
    BeforeStatement(u32),
    /// The commit has arrived and is not delivered.
    CommitSent,
    /// The k-th statement was executed, and its answer is lost.
    AfterStatement(u32),
    /// The commit was executed, and its answer is lost.
    CommitDelivered,
    /// The commit was executed, and the client gets the first half of its answer.
    MidReply,
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The client's connection is reset (TCP RST).
    Reset,
    /// The client's connection is closed in order (TCP FIN).
    Close,
    /// The connection stays, and swallows everything until the client goes away.
    BlackHole,
    /// The request or answer is held for this long, or until
    /// [`go_on`](super::Line::go_on), and then delivered, even if the client is gone by then.
    Delay(Option<Duration>),
    /// The request or answer is delivered but for its last byte, and then both connections
    /// are closed in order.
    Truncate,
    /// This and all that follows in the operation is delivered byte by byte, both ways.
    Trickle,
}

impl Kind {
    /// Whether the operation can still end well, because all is delivered in the end.
    pub fn delivers(self) -> bool {
        matches!(self, Kind::Delay(_) | Kind::Trickle)
    }
}

/// The proof that a fault fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireReceipt {
    /// The fault.
    pub fault: WireFault,
    /// The process id of the backend whose connection it was.
    pub backend: Option<i32>,
    /// How many statements had arrived at the line.
    pub statements: u32,
    /// What became of the commit.
    pub commit: Commit,
    /// What the server answered to the last commit, or to the statement after which the fault
    /// fired, if that reached the line.
    pub answer: Option<Answer>,
}

/// What became of an operation's commit at the line.
///
/// A commit that changed nothing, or failed, and was followed by another statement counts
/// as none: a guarded write that goes round again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Commit {
    /// None has arrived.
    #[default]
    NotSent,
    /// It has arrived, and the server will never get the whole of it.
    NotDelivered,
    /// It has arrived and is held: it is delivered when the delay is over.
    Held,
    /// The server was sent the whole of it.
    Delivered,
}

/// A server's answer to a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was done, and the server says what, such as `COMMIT` or `UPDATE 1`.
    Done(String),
    /// It failed, with this code (SQLSTATE).
    Failed(String),
}

impl Answer {
    /// Whether the server says that it changed something.
    pub fn has_effect(&self) -> bool {
        matches!(self, Answer::Done(tag) if !tag.ends_with(" 0") && tag != "ROLLBACK")
    }
}

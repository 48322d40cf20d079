//! Faults: what is made to fail, at which point of an operation, and the receipt for it.
//!
//! A fault is part of a schedule, addressed by operation and point and never by time. There
//! are two families. The first four are done between the writer and its store, at memory
//! speed, and any store can meet them. [`Fault::At`] is done for real, to the operation's
//! own connection, to its caller or to its server; it takes a store that is set up for it.

use serde::{Deserialize, Serialize};

/// What one operation is made to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Fault {
    /// The operation is not executed, and the writer is told so.
    NotApplied,
    /// It is not executed, and the writer is left in doubt.
    UnknownBefore,
    /// It is executed, and the writer is left in doubt.
    UnknownAfter,
    /// The writer is left in doubt, and the operation is executed when so many others
    /// were called after it, or when there are no more.
    UnknownLate {
        /// How many others.
        after: u32,
    },
    /// Something happens in earnest when the operation reaches a point. Where it does not
    /// get there, being refused before or having nothing to commit, nothing happens.
    At {
        /// Where.
        point: Point,
        /// What.
        kind: FaultKind,
    },
}

/// A named moment in the execution of an operation, where a fault can be placed.
///
/// The first four and the last are reached by the store, which tells its
/// [`Hook`](crate::Hook); the three between are known to whoever stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Point {
    /// Before a connection or lock is acquired.
    Acquire,
    /// Before a transaction begins.
    Begin,
    /// After the transaction's k-th statement, from 1.
    Statement(u32),
    /// Before the commit is sent; from then on the operation is in doubt.
    BeforeCommit,
    /// The commit was sent, and is never delivered.
    CommitSent,
    /// The commit was delivered and carried out, and nothing of the reply arrives.
    CommitDelivered,
    /// The commit was delivered and carried out, and only a part of the reply arrives.
    MidReply,
    /// After the effect, before the caller is answered.
    Reply,
}

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FaultKind {
    /// The server is told to end the operation's own connection, and has (`pg_terminate_backend`).
    Terminate,
    /// The caller drops the operation's future.
    CallerGone,
    /// The connection is reset (TCP RST).
    Reset,
    /// The connection is closed in order.
    Close,
    /// The connection stays open, and nothing passes any more.
    BlackHole,
    /// What is under way is held up for a while, and passes then.
    Delay,
    /// A part of the message passes, and the connection is closed.
    Truncate,
    /// What is under way passes byte by byte.
    Trickle,
    /// The server is killed, and started again on the same data.
    ServerKill,
    /// The server is shut down at once, and started again on the same data.
    ServerStop,
    /// Another transaction holds the lock that the operation waits for, until the server
    /// gives up the wait (`lock_timeout`).
    LockTimeout,
    /// The server gives up the statement (`statement_timeout`).
    StatementTimeout,
    /// The server ends a transaction that is idle (`idle_in_transaction_session_timeout`).
    IdleTimeout,
    /// Another transaction makes the operation's unserializable.
    Serialization,
    /// Another transaction and the operation wait for each other.
    Deadlock,
    /// The server has no room left.
    DiskFull,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [FaultKind; 16] = [
        FaultKind::Terminate,
        FaultKind::CallerGone,
        FaultKind::Reset,
        FaultKind::Close,
        FaultKind::BlackHole,
        FaultKind::Delay,
        FaultKind::Truncate,
        FaultKind::Trickle,
        FaultKind::ServerKill,
        FaultKind::ServerStop,
        FaultKind::LockTimeout,
        FaultKind::StatementTimeout,
        FaultKind::IdleTimeout,
        FaultKind::Serialization,
        FaultKind::Deadlock,
        FaultKind::DiskFull,
    ];
}

/// The proof that a planned fault fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    /// The fault.
    pub fault: Fault,
    /// Whether the operation's commit was carried out, if whoever injected the fault can
    /// tell; it is never told to the writer.
    pub applied: Option<bool>,
}

impl Fault {
    /// Whether it is done for real, and not by a decorator of the store.
    pub fn is_real(&self) -> bool {
        matches!(self, Fault::At { .. })
    }
}

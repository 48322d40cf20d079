//! What a server says to a client.

use bytes::Bytes;

use super::framing::{Body, Frame, Framing};

/// A message of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The one byte that answers a request for encryption: `N` refuses.
    EncryptionAnswer(u8),
    /// A demand for a password, or that none is needed any more.
    Authentication,
    /// Which process serves the connection.
    BackendKeyData {
        /// Its process id, as `pg_backend_pid()` has it.
        process: i32,
    },
    /// The server waits for the next request.
    ReadyForQuery(TransactionStatus),
    /// A statement was executed; the text is such as `INSERT 0 1`.
    CommandComplete(String),
    /// A statement failed, with this code (SQLSTATE).
    Error(String),
    /// There was no statement to execute.
    EmptyQuery,
    /// A statement was executed as far as rows were asked for.
    PortalSuspended,
    /// The server waits for rows that the client copies.
    CopyIn,
    /// Part of a stream that is encrypted or is not the protocol.
    Opaque,
    /// Another message, by its tag.
    Other(u8),
}

/// What a connection is in, as a server tells when it is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// In no transaction: the next statement commits by itself.
    #[default]
    Idle,
    /// In a transaction.
    Open,
    /// In a transaction of which a statement failed: its commit will roll it back.
    Failed,
}

/// Makes messages of the bytes of a server.
#[derive(Debug, Default)]
pub struct BackendParser {
    framing: Framing,
    /// How many single bytes are to come next.
    encryption_answers: u32,
}

impl BackendParser {
    /// Takes what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.framing.push(bytes);
    }

    /// The beginning of a message that is not whole yet.
    pub fn partial(&self) -> &[u8] {
        self.framing.partial()
    }

    /// From now on nothing is understood, for instance because it is encrypted.
    pub fn give_up(&mut self) {
        self.framing.give_up();
    }

    /// The client has asked for encryption, and a single byte answers that.
    pub fn expect_encryption_answer(&mut self) {
        self.encryption_answers += 1;
    }

    /// The next whole message, and its bytes.
    pub fn next_message(&mut self) -> Option<(Backend, Bytes)> {
        // An old server answers with an error, which is a message like others.
        if self.encryption_answers > 0 && self.partial().first()? != &b'E' {
            self.encryption_answers -= 1;
            let bytes = self.framing.take(1)?;
            return Some((Backend::EncryptionAnswer(bytes[0]), bytes));
        }
        Some(match self.framing.next()? {
            Frame::Opaque(bytes) => (Backend::Opaque, bytes),
            Frame::Message(tag, bytes) => {
                (read(tag, Body::of(&bytes)).unwrap_or(Backend::Other(tag)), bytes)
            }
        })
    }
}

/// Reads a message; `None` if it breaks off.
fn read(tag: u8, mut body: Body<'_>) -> Option<Backend> {
    Some(match tag {
        b'R' => Backend::Authentication,
        b'K' => Backend::BackendKeyData { process: body.number()?.cast_signed() },
        b'Z' => Backend::ReadyForQuery(match body.byte()? {
            b'I' => TransactionStatus::Idle,
            b'T' => TransactionStatus::Open,
            _ => TransactionStatus::Failed,
        }),
        b'C' => Backend::CommandComplete(body.text()?),
        b'E' => Backend::Error(code(body)?),
        b'I' => Backend::EmptyQuery,
        b's' => Backend::PortalSuspended,
        b'G' | b'W' => Backend::CopyIn,
        other => Backend::Other(other),
    })
}

/// The field of an error that holds its code.
fn code(mut body: Body<'_>) -> Option<String> {
    loop {
        let field = body.byte()?;
        let text = body.text()?;
        if field == b'C' {
            return Some(text);
        }
    }
}

//! What a client says to a server.

use bytes::Bytes;

use super::framing::{Body, Frame, Framing};

/// Longer than this is no first message, for the server takes none.
const LONGEST_FIRST: u32 = 10_000;
const CANCEL: u32 = 80_877_102;
const SSL: u32 = 80_877_103;
const GSS_ENCRYPTION: u32 = 80_877_104;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frontend {
    /// It asks for encryption (SSLRequest or GSSENCRequest); a single byte answers.
    Encryption,
    /// Its connection is only to cancel what the connection of this process is at.
    Cancel {
        /// The process id of the other connection's backend.
        process: i32,
    },
    /// The beginning of a session.
    Startup,
    /// A password, or another answer to the server's demand for one.
    Password,
    /// A text of statements, executed at once.
    Query(String),
    /// A statement to prepare.
    Parse {
        /// Its name; empty for the unnamed one.
        statement: String,
        /// Its text.
        sql: String,
    },
    /// A prepared statement gets its arguments.
    Bind {
        /// The name of what comes of it.
        portal: String,
        /// The prepared statement.
        statement: String,
    },
    /// What was bound is executed.
    Execute {
        /// What was bound.
        portal: String,
    },
    /// A question about a statement or portal.
    Describe,
    /// A prepared statement is forgotten.
    CloseStatement(String),
    /// A portal is forgotten.
    ClosePortal(String),
    /// The end of a group of messages: outside a transaction, what they did is committed.
    Sync,
    /// The server is to send the answers that it has.
    Flush,
    /// A function is called, the old way.
    FunctionCall,
    /// The rows that the client copies to the server end, in order or not.
    CopyEnd,
    /// The client takes its leave.
    Terminate,
    /// Part of a stream that is encrypted or is not the protocol.
    Opaque,
    /// Another message, by its tag.
    Other(u8),
}

/// Makes messages of the bytes of a client.
#[derive(Debug, Default)]
pub struct FrontendParser {
    framing: Framing,
    /// Whether the first message, which has no tag, was read.
    is_started: bool,
}

impl FrontendParser {
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

    /// The next whole message, and its bytes.
    pub fn next_message(&mut self) -> Option<(Frontend, Bytes)> {
        if !self.is_started {
            return self.first();
        }
        Some(match self.framing.next()? {
            Frame::Opaque(bytes) => (Frontend::Opaque, bytes),
            Frame::Message(tag, bytes) => {
                (read(tag, Body::of(&bytes)).unwrap_or(Frontend::Other(tag)), bytes)
            }
        })
    }

    fn first(&mut self) -> Option<(Frontend, Bytes)> {
        let length = self.framing.number_at(0)?;
        if !(8..=LONGEST_FIRST).contains(&length) {
            return self.not_the_protocol();
        }
        let code = self.framing.number_at(4)?;
        let process = self.framing.number_at(8);
        if !matches!(code, SSL | GSS_ENCRYPTION | CANCEL) && code >> 16 != 3 {
            return self.not_the_protocol();
        }
        let bytes = self.framing.take(length as usize)?;
        // After a request for encryption, and its answer, another first message comes.
        self.is_started = !matches!(code, SSL | GSS_ENCRYPTION);
        let message = match (code, process) {
            (SSL | GSS_ENCRYPTION, _) => Frontend::Encryption,
            (CANCEL, Some(process)) => Frontend::Cancel { process: process.cast_signed() },
            _ => Frontend::Startup,
        };
        Some((message, bytes))
    }

    fn not_the_protocol(&mut self) -> Option<(Frontend, Bytes)> {
        self.is_started = true;
        self.give_up();
        self.next_message()
    }
}

/// Reads a message; `None` if it breaks off.
fn read(tag: u8, mut body: Body<'_>) -> Option<Frontend> {
    Some(match tag {
        b'p' => Frontend::Password,
        b'Q' => Frontend::Query(body.text()?),
        b'P' => Frontend::Parse { statement: body.text()?, sql: body.text()? },
        b'B' => Frontend::Bind { portal: body.text()?, statement: body.text()? },
        b'E' => Frontend::Execute { portal: body.text()? },
        b'D' => Frontend::Describe,
        b'C' => match body.byte()? {
            b'S' => Frontend::CloseStatement(body.text()?),
            _ => Frontend::ClosePortal(body.text()?),
        },
        b'S' => Frontend::Sync,
        b'H' => Frontend::Flush,
        b'F' => Frontend::FunctionCall,
        b'c' | b'f' => Frontend::CopyEnd,
        b'X' => Frontend::Terminate,
        other => Frontend::Other(other),
    })
}

//! Cutting a stream of bytes into messages: a tag, a length that counts itself, a body.

use bytes::{Buf, Bytes, BytesMut};

/// No message of a client or server is longer than PostgreSQL's limit for one allocation.
const LONGEST: usize = 0x4000_0000;
/// The length of what comes before the body: the tag and the length.
const HEADER: usize = 5;

/// The bytes of a stream that no whole message has been made of yet.
#[derive(Debug, Default)]
pub(super) struct Framing {
    buffer: BytesMut,
    opaque: bool,
}

/// What is cut off a stream next.
#[derive(Debug)]
pub(super) enum Frame {
    /// A whole message with its header, and the tag.
    Message(u8, Bytes),
    /// All that there is of a stream that is not, or no longer, understood.
    Opaque(Bytes),
}

impl Framing {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The beginning of a message that is not whole yet.
    pub(super) fn partial(&self) -> &[u8] {
        &self.buffer
    }

    /// From now on the stream is handed through.
    pub(super) fn give_up(&mut self) {
        self.opaque = true;
    }

    /// The first so many bytes, if they are there.
    pub(super) fn take(&mut self, length: usize) -> Option<Bytes> {
        (self.buffer.len() >= length).then(|| self.buffer.split_to(length).freeze())
    }

    /// The number at this place, if it is there.
    pub(super) fn number_at(&self, start: usize) -> Option<u32> {
        self.buffer.get(start..start + 4).map(|mut bytes| bytes.get_u32())
    }

    /// All that is there, of a stream that is not understood.
    pub(super) fn opaque(&mut self) -> Option<Frame> {
        let is_some = self.opaque && !self.buffer.is_empty();
        is_some.then(|| Frame::Opaque(self.buffer.split().freeze()))
    }

    /// The next message that begins with a tag.
    pub(super) fn next(&mut self) -> Option<Frame> {
        if self.opaque {
            return self.opaque();
        }
        let tag = *self.buffer.first()?;
        if !tag.is_ascii_alphanumeric() {
            self.give_up();
            return self.opaque();
        }
        let length = self.number_at(1)? as usize;
        if !(HEADER - 1..LONGEST).contains(&length) {
            self.give_up();
            return self.opaque();
        }
        self.take(1 + length).map(|message| Frame::Message(tag, message))
    }
}

/// The body of a message, read from its beginning.
pub(super) struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Body(&message[HEADER..])
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    /// A text that ends with a NUL. What is not UTF-8 in it, such as another encoding's
    /// letters, is replaced, for nothing here depends on it.
    pub(super) fn text(&mut self) -> Option<String> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = String::from_utf8_lossy(&self.0[..end]).into_owned();
        self.0 = &self.0[end + 1..];
        Some(text)
    }
}

//! A conversation in pieces of every size is the same conversation.

use super::*;
use TransactionStatus::{Failed, Idle, Open};

/// A message with its tag and length.
pub(in crate::proxy) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// A first message, which has no tag.
pub(in crate::proxy) fn first(code: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 8).unwrap().to_be_bytes();
    [&length[..], &code.to_be_bytes(), body].concat()
}

const PROTOCOL_3: u32 = 3 << 16;

/// What a driver says that asks for both encryptions and then for a password, prepares and
/// executes a statement, and commits.
fn client() -> Vec<(Frontend, Vec<u8>)> {
    let (statement, portal, sql) = ("s1".to_owned(), String::new(), "SELECT $1".to_owned());
    vec![
        (Frontend::Encryption, first(80_877_104, &[])),
        (Frontend::Encryption, first(80_877_103, &[])),
        (Frontend::Startup, first(PROTOCOL_3, b"user\0somebody\0\0")),
        (Frontend::Password, message(b'p', b"SCRAM-SHA-256\0\0\0\0\x05n,,n=")),
        (Frontend::Password, message(b'p', b"c=biws")),
        (Frontend::Query("BEGIN".to_owned()), message(b'Q', b"BEGIN\0")),
        (
            Frontend::Parse { statement: statement.clone(), sql },
            message(b'P', b"s1\0SELECT $1\0\0\0"),
        ),
        (Frontend::Describe, message(b'D', b"Ss1\0")),
        (Frontend::Flush, message(b'H', &[])),
        (
            Frontend::Bind { portal: portal.clone(), statement: statement.clone() },
            message(b'B', b"\0s1\0\0\0\0\x01\0\0\0\x02hi\0\0"),
        ),
        (Frontend::Execute { portal: portal.clone() }, message(b'E', b"\0\0\0\0\0")),
        (Frontend::CloseStatement(statement), message(b'C', b"Ss1\0")),
        (Frontend::ClosePortal(portal), message(b'C', b"P\0")),
        (Frontend::Sync, message(b'S', &[])),
        (Frontend::Query("COPY t FROM STDIN".to_owned()), message(b'Q', b"COPY t FROM STDIN\0")),
        (Frontend::Other(b'd'), message(b'd', b"1\tone\n")),
        (Frontend::CopyEnd, message(b'c', &[])),
        (Frontend::FunctionCall, message(b'F', &[0; 12])),
        (Frontend::Query("COMMIT".to_owned()), message(b'Q', b"COMMIT\0")),
        (Frontend::Terminate, message(b'X', &[])),
    ]
}

/// What a server answers to that, and to a statement that fails.
fn server() -> Vec<(Backend, Vec<u8>)> {
    let ready = |status, letter: &[u8]| (Backend::ReadyForQuery(status), message(b'Z', letter));
    let done = |tag: &str| {
        (Backend::CommandComplete(tag.to_owned()), message(b'C', format!("{tag}\0").as_bytes()))
    };
    let error = b"SERROR\0VERROR\0C40001\0Mcould not serialize access\0\0";
    vec![
        (Backend::EncryptionAnswer(b'N'), b"N".to_vec()),
        (Backend::EncryptionAnswer(b'N'), b"N".to_vec()),
        (Backend::Authentication, message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0")),
        (Backend::Authentication, message(b'R', &[0; 4])),
        (Backend::Other(b'S'), message(b'S', b"server_version\x0015.4\0")),
        (Backend::BackendKeyData { process: 4711 }, message(b'K', &[0, 0, 0x12, 0x67, 1, 2, 3, 4])),
        ready(Idle, b"I"),
        done("BEGIN"),
        ready(Open, b"T"),
        (Backend::Other(b'1'), message(b'1', &[])),
        (Backend::Other(b'D'), message(b'D', b"\0\x01\0\0\0\x02hi")),
        (Backend::PortalSuspended, message(b's', &[])),
        (Backend::Error("40001".to_owned()), message(b'E', error)),
        ready(Failed, b"E"),
        (Backend::EmptyQuery, message(b'I', &[])),
        (Backend::CopyIn, message(b'G', b"\0\0\x01\0\0")),
        done("INSERT 0 1"),
        ready(Idle, b"I"),
    ]
}

fn heard_from_client(stream: &[u8], piece: usize) -> Vec<(Frontend, Vec<u8>)> {
    let mut parser = FrontendParser::default();
    let mut heard = Vec::new();
    for bytes in stream.chunks(piece) {
        parser.push(bytes);
        while let Some((message, bytes)) = parser.next_message() {
            heard.push((message, bytes.to_vec()));
        }
    }
    assert!(parser.partial().is_empty());
    heard
}

fn heard_from_server(stream: &[u8], piece: usize) -> Vec<(Backend, Vec<u8>)> {
    let mut parser = BackendParser::default();
    parser.expect_encryption_answer();
    parser.expect_encryption_answer();
    let mut heard = Vec::new();
    for bytes in stream.chunks(piece) {
        parser.push(bytes);
        while let Some((message, bytes)) = parser.next_message() {
            heard.push((message, bytes.to_vec()));
        }
    }
    assert!(parser.partial().is_empty());
    heard
}

fn joined<T>(messages: &[(T, Vec<u8>)]) -> Vec<u8> {
    messages.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
}

#[test]
fn a_client_is_understood_in_pieces_of_every_size() {
    let said = client();
    let stream = joined(&said);
    for piece in 1..=stream.len() {
        assert_eq!(heard_from_client(&stream, piece), said, "in pieces of {piece}");
    }
}

#[test]
fn a_server_is_understood_in_pieces_of_every_size() {
    let said = server();
    let stream = joined(&said);
    for piece in 1..=stream.len() {
        assert_eq!(heard_from_server(&stream, piece), said, "in pieces of {piece}");
    }
}

#[test]
fn a_connection_that_cancels_another_names_its_process() {
    let stream = first(80_877_102, &[0, 0, 0x12, 0x67, 9, 9, 9, 9]);
    for piece in 1..=stream.len() {
        let heard = heard_from_client(&stream, piece);
        assert_eq!(heard, [(Frontend::Cancel { process: 4711 }, stream.clone())]);
    }
}

#[test]
fn what_is_not_the_protocol_is_handed_through() {
    for stream in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0x16, 3, 1, 2, 0, 1, 0, 1], &[0, 0, 0, 9, 9, 9, 9, 9]]
    {
        for piece in 1..=stream.len() {
            let heard = heard_from_client(stream, piece);
            assert!(heard.iter().all(|(message, _)| *message == Frontend::Opaque));
            assert_eq!(joined(&heard), stream);
        }
    }
    let mut parser = BackendParser::default();
    parser.push(b"\x15\x03 alert");
    assert_eq!(parser.next_message().unwrap().0, Backend::Opaque);
}

#[test]
fn a_message_that_breaks_off_within_itself_is_another_one() {
    for (tag, body) in [(b'Q', &b"BEGIN"[..]), (b'P', b"s1\0SELECT"), (b'C', b""), (b'B', b"\0s")] {
        let stream = [first(PROTOCOL_3, b"\0"), message(tag, body)].concat();
        assert_eq!(heard_from_client(&stream, 3)[1].0, Frontend::Other(tag));
    }
    for (tag, body) in [(b'K', &b"\0\0"[..]), (b'Z', b""), (b'E', b"SERROR\0\0"), (b'C', b"COMMIT")]
    {
        let mut parser = BackendParser::default();
        parser.push(&message(tag, body));
        assert_eq!(parser.next_message().unwrap().0, Backend::Other(tag));
    }
}

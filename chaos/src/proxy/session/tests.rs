//! The same bytes are passed and kept back, whatever pieces a conversation comes in.

use super::*;
use crate::proxy::fault::{Commit, WireReceipt};
use crate::proxy::wire::tests::{first, message};

/// What the client sends until it waits, and what the server sends then.
type Turn = (Vec<u8>, Vec<u8>);

fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

fn done(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

fn text(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

fn parse(sql: &str) -> Vec<u8> {
    message(b'P', format!("w\0{sql}\0\0\0").as_bytes())
}

fn execute() -> Vec<u8> {
    [message(b'B', b"\0w\0\0\0\0\0\0\0"), message(b'E', b"\0\0\0\0\0")].concat()
}

fn sync() -> Vec<u8> {
    message(b'S', &[])
}

fn greeting() -> Turn {
    let server = [message(b'R', &[0; 4]), message(b'K', &[0, 0, 0, 7, 1, 1, 1, 1]), ready(b'I')];
    (first(3 << 16, b"user\0u\0\0"), server.concat())
}

/// A transaction that sets something, writes with a prepared statement, and commits.
fn transaction() -> Vec<Turn> {
    let executed = [message(b'2', &[]), done("INSERT 0 1"), ready(b'T')].concat();
    vec![
        greeting(),
        (text("BEGIN"), [done("BEGIN"), ready(b'T')].concat()),
        (text("SET lock_timeout = 1"), [done("SET"), ready(b'T')].concat()),
        (
            [parse("INSERT INTO t VALUES (1)"), sync()].concat(),
            [message(b'1', &[]), ready(b'T')].concat(),
        ),
        ([execute(), sync()].concat(), executed.clone()),
        ([execute(), sync()].concat(), executed),
        (text("COMMIT"), [done("COMMIT"), ready(b'I')].concat()),
    ]
}

/// A read, and then a statement that writes and commits by itself, asked for without a Sync
/// at first.
fn alone() -> Vec<Turn> {
    let read = [message(b'D', &[0, 0]), done("SELECT 1"), ready(b'I')].concat();
    vec![
        greeting(),
        (text("SELECT 1 FROM t FOR UPDATE"), read),
        (
            [parse("WITH x AS (DELETE FROM t) SELECT"), execute(), message(b'H', &[])].concat(),
            [message(b'1', &[]), message(b'2', &[]), done("SELECT 1")].concat(),
        ),
        (sync(), ready(b'I')),
    ]
}

/// What came of a conversation.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    /// The turn in which the connection ended.
    ended: Option<(usize, Ending)>,
    receipt: Option<WireReceipt>,
}

/// Holds the conversation in pieces of this size.
fn converse(turns: &[Turn], fault: Option<WireFault>, piece: usize) -> Outcome {
    let (mut session, mut faults) = (Session::default(), Faults::default());
    let mut outcome = Outcome::default();
    fault.into_iter().for_each(|fault| faults.arm(fault));
    for (turn, (client, server)) in turns.iter().enumerate() {
        for bytes in client.chunks(piece) {
            let steps = session.client_sent(bytes, &mut faults);
            take(steps, &mut outcome.to_server, &mut outcome.ended, turn, &mut faults);
        }
        // A server that did not get the request does not answer it.
        let is_asked = outcome.to_server.ends_with(client);
        for bytes in server.chunks(piece).filter(|_| is_asked) {
            let steps = session.server_sent(bytes, &mut faults);
            take(steps, &mut outcome.to_client, &mut outcome.ended, turn, &mut faults);
        }
        if outcome.ended.is_some() || !is_asked {
            break;
        }
    }
    outcome.receipt = faults.disarm();
    outcome
}

fn take(
    steps: Vec<Step>,
    passed: &mut Vec<u8>,
    ended: &mut Option<(usize, Ending)>,
    turn: usize,
    faults: &mut Faults,
) {
    for step in steps {
        assert_eq!(*ended, None, "nothing comes after the end");
        match step {
            Step::Pass(bytes) | Step::Trickle(bytes) => passed.extend_from_slice(&bytes),
            Step::CommitPassed(operation) => faults.delivered(operation),
            Step::Hold(_) | Step::Released => {}
            Step::End(ending) => *ended = Some((turn, ending)),
        }
    }
}

fn client_bytes(turns: &[Turn], count: usize) -> Vec<u8> {
    turns[..count].iter().flat_map(|(client, _)| client.clone()).collect()
}

const KINDS: [Kind; 6] =
    [Kind::Reset, Kind::Close, Kind::BlackHole, Kind::Delay(None), Kind::Truncate, Kind::Trickle];

/// A place, how many turns come before that of its request, and the counted statements and
/// the commit as they have arrived by then.
type Case = (Place, usize, u32, Commit);

/// Where a request is kept back, the server gets what came before it and what the kind lets
/// through.
fn is_kept_back(turns: &[Turn], case: Case) {
    let (place, before, statements, commit) = case;
    for kind in KINDS {
        let what = format!("{place:?} {kind:?}");
        let fault = WireFault { place, kind };
        let whole = converse(turns, Some(fault), usize::MAX);
        let passed = client_bytes(turns, before);
        let request = &turns[before].0;
        let expected = match kind {
            Kind::Delay(_) | Kind::Trickle => client_bytes(turns, turns.len()),
            Kind::Truncate => [&passed, &request[..request.len() - 1]].concat(),
            _ => passed,
        };
        assert!(whole.to_server == expected, "{what}");
        let receipt = whole.receipt.as_ref().unwrap_or_else(|| panic!("{what} has not fired"));
        assert_eq!((receipt.statements, receipt.backend), (statements, Some(7)), "{what}");
        let commit = if kind.delivers() { Commit::Delivered } else { commit };
        assert_eq!(receipt.commit, commit, "{what}");
        in_pieces(turns, fault, &whole);
    }
}

/// Where an answer is kept back, the server gets the request whole.
fn answer_is_kept_back(turns: &[Turn], case: Case) {
    let (place, before, statements, commit) = case;
    for kind in KINDS {
        let what = format!("{place:?} {kind:?}");
        let fault = WireFault { place, kind };
        let whole = converse(turns, Some(fault), usize::MAX);
        let received = if kind.delivers() { turns.len() } else { before + 1 };
        if kind != Kind::BlackHole {
            assert!(whole.to_server == client_bytes(turns, received), "{what}");
        }
        let receipt = whole.receipt.as_ref().unwrap_or_else(|| panic!("{what} has not fired"));
        let commit = if kind.delivers() { Commit::Delivered } else { commit };
        assert_eq!((receipt.statements, receipt.commit), (statements, commit), "{what}");
        assert!(receipt.answer.is_some(), "{what}");
        in_pieces(turns, fault, &whole);
    }
}

fn in_pieces(turns: &[Turn], fault: WireFault, whole: &Outcome) {
    for piece in 1..=80 {
        assert_eq!(converse(turns, Some(fault), piece), *whole, "{fault:?} in pieces of {piece}");
    }
}

#[test]
fn without_a_fault_everything_passes() {
    for turns in [transaction(), alone()] {
        for piece in 1..=80 {
            let outcome = converse(&turns, None, piece);
            let server: Vec<u8> = turns.iter().flat_map(|(_, server)| server.clone()).collect();
            assert!(outcome.to_server == client_bytes(&turns, turns.len()));
            assert!(outcome.to_client == server);
        }
    }
}

#[test]
fn a_request_of_a_transaction_is_kept_back_at_its_place() {
    for case in [
        (Place::BeforeBegin, 1, 0, Commit::NotSent),
        (Place::BeforeStatement(1), 4, 1, Commit::NotSent),
        (Place::BeforeStatement(2), 5, 2, Commit::NotSent),
        (Place::CommitSent, 6, 2, Commit::NotDelivered),
    ] {
        is_kept_back(&transaction(), case);
    }
}

#[test]
fn an_answer_within_a_transaction_is_kept_back_at_its_place() {
    for case in [
        (Place::AfterStatement(1), 4, 1, Commit::NotSent),
        (Place::AfterStatement(2), 5, 2, Commit::NotSent),
        (Place::CommitDelivered, 6, 2, Commit::Delivered),
        (Place::MidReply, 6, 2, Commit::Delivered),
    ] {
        answer_is_kept_back(&transaction(), case);
    }
}

#[test]
fn a_write_on_its_own_is_committed_by_the_sync() {
    is_kept_back(&alone(), (Place::BeforeStatement(2), 2, 2, Commit::NotSent));
    is_kept_back(&alone(), (Place::CommitSent, 3, 2, Commit::NotDelivered));
    answer_is_kept_back(&alone(), (Place::AfterStatement(2), 2, 2, Commit::NotSent));
}

#[test]
fn a_fault_whose_place_does_not_come_does_not_fire() {
    for place in [Place::BeforeBegin, Place::BeforeStatement(3), Place::AfterStatement(3)] {
        let outcome = converse(&alone(), Some(WireFault { place, kind: Kind::Reset }), usize::MAX);
        assert_eq!((outcome.receipt, outcome.ended), (None, None), "{place:?}");
    }
}

#[test]
fn requests_that_are_sent_before_the_last_is_answered_are_told_apart() {
    let (mut session, mut faults) = (Session::default(), Faults::default());
    let (client, server) = greeting();
    session.client_sent(&client, &mut faults);
    session.server_sent(&server, &mut faults);
    faults.arm(WireFault { place: Place::CommitDelivered, kind: Kind::Reset });
    let requests = [text("BEGIN"), text("INSERT INTO t VALUES (1)"), text("COMMIT")];
    let steps = session.client_sent(&requests.concat(), &mut faults);
    assert_eq!(steps.last(), Some(&Step::CommitPassed(faults.operation())));
    let begun = [done("BEGIN"), ready(b'T'), done("INSERT 0 1"), ready(b'T')].concat();
    let answers = [begun.clone(), done("COMMIT"), ready(b'I')].concat();
    let steps = session.server_sent(&answers, &mut faults);
    let mut passed = Vec::new();
    take(steps, &mut passed, &mut None, 0, &mut faults);
    assert!(passed == begun);
    assert_eq!(faults.disarm().unwrap().commit, Commit::Delivered);
}

#[test]
fn a_guarded_write_that_changed_nothing_and_goes_round_again_is_no_commit() {
    let write = || text("UPDATE t SET a = 1");
    let read = || (text("SELECT"), [done("SELECT 1"), ready(b'I')].concat());
    for (tag, expected) in [("UPDATE 0", Commit::NotSent), ("UPDATE 1", Commit::Delivered)] {
        let turns =
            [greeting(), (write(), [done(tag), ready(b'I')].concat()), read(), (write(), vec![])];
        let fault = WireFault { place: Place::BeforeStatement(2), kind: Kind::Reset };
        let receipt = converse(&turns, Some(fault), usize::MAX).receipt.unwrap();
        assert_eq!(receipt.commit, expected, "{tag}");
    }
}

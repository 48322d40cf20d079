//! Every toxic, at moments that the test says.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;

/// A chain at a moment.
struct Desk {
    chain: Chain,
    toxics: Vec<Arc<Toxic>>,
    now: Instant,
    ids: u64,
}

fn data(text: &str) -> Piece {
    Piece::Data(Bytes::copy_from_slice(text.as_bytes()))
}

impl Desk {
    fn new() -> Self {
        Desk { chain: Chain::default(), toxics: Vec::new(), now: Instant::now(), ids: 0 }
    }

    fn with(kind: &str, attributes: Value) -> Self {
        let mut desk = Desk::new();
        desk.add(kind, attributes);
        desk
    }

    fn add(&mut self, kind: &str, attributes: Value) {
        self.ids += 1;
        let body = json!({ "type": kind, "attributes": attributes }).to_string();
        self.toxics.push(Arc::new(Toxic::read(self.ids, body.as_bytes()).unwrap()));
        self.chain.become_these(&self.toxics, self.now);
    }

    fn update(&mut self, place: usize, update: Value) {
        let updated = self.toxics[place].updated(update.to_string().as_bytes()).unwrap();
        self.toxics[place] = Arc::new(updated);
        self.chain.become_these(&self.toxics, self.now);
    }

    fn remove(&mut self, place: usize) {
        self.toxics.remove(place);
        self.chain.become_these(&self.toxics, self.now);
    }

    fn put(&mut self, text: &str) {
        self.chain.put(data(text));
    }

    fn pass(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    /// All that comes out at this moment, text joined.
    fn out(&mut self) -> Vec<Piece> {
        let mut out: Vec<Piece> = Vec::new();
        while let Next::Out(piece) = self.chain.next(self.now) {
            match (out.last_mut(), piece) {
                (Some(Piece::Data(all)), Piece::Data(more)) => {
                    *all = [&all[..], &more].concat().into()
                }
                (_, piece) => out.push(piece),
            }
        }
        out
    }

    /// In how many milliseconds something comes out next.
    fn wakes_in(&mut self) -> Option<u128> {
        match self.chain.next(self.now) {
            Next::Wait(moment) => moment.map(|moment| (moment - self.now).as_millis()),
            Next::Out(piece) => panic!("{piece:?}"),
        }
    }
}

const NOTHING: [Piece; 0] = [];

#[test]
fn without_toxics_everything_passes_at_once() {
    let mut desk = Desk::new();
    desk.put("a");
    desk.chain.put(Piece::End);
    assert_eq!(desk.out(), [data("a"), Piece::End]);
}

#[test]
fn latency_delays_each_piece_by_itself_and_not_the_end() {
    let mut desk = Desk::with("latency", json!({ "latency": 100 }));
    desk.put("a");
    assert_eq!(desk.wakes_in(), Some(100));
    desk.pass(60);
    desk.put("b");
    assert_eq!(desk.out(), NOTHING);
    desk.pass(40);
    assert_eq!(desk.out(), [data("a")]);
    desk.pass(60);
    desk.chain.put(Piece::End);
    assert_eq!(desk.out(), [data("b"), Piece::End]);
}

#[test]
fn jitter_is_within_its_bounds() {
    for _ in 0..200 {
        let mut desk = Desk::with("latency", json!({ "latency": 100, "jitter": 50 }));
        desk.put("a");
        let wakes = desk.wakes_in().unwrap();
        assert!((50..150).contains(&wakes), "{wakes}");
    }
}

#[test]
fn bandwidth_passes_so_much_in_a_time() {
    let mut desk = Desk::with("bandwidth", json!({ "rate": 1 }));
    desk.put(&"x".repeat(1000));
    let mut passed = 0;
    for tenth in 1..=10 {
        assert_eq!(desk.wakes_in(), Some(100));
        desk.pass(100);
        for piece in desk.out() {
            let Piece::Data(bytes) = piece else { panic!("{piece:?}") };
            passed += bytes.len();
        }
        assert_eq!(passed, tenth * 100);
    }
    let mut desk = Desk::with("bandwidth", json!({}));
    desk.put("never");
    assert_eq!(desk.wakes_in(), None);
}

#[test]
fn slow_close_delays_the_end_only() {
    let mut desk = Desk::with("slow_close", json!({ "delay": 100 }));
    desk.put("a");
    desk.chain.put(Piece::End);
    assert_eq!(desk.out(), [data("a")]);
    assert_eq!(desk.wakes_in(), Some(100));
    desk.pass(100);
    assert_eq!(desk.out(), [Piece::End]);
}

#[test]
fn timeout_swallows_everything_and_closes_after_a_silence() {
    let mut desk = Desk::with("timeout", json!({ "timeout": 100 }));
    desk.pass(60);
    desk.put("a");
    assert_eq!(desk.out(), NOTHING);
    assert_eq!(desk.wakes_in(), Some(100));
    desk.pass(100);
    assert_eq!(desk.out(), [Piece::Close]);
}

#[test]
fn a_timeout_of_zero_closes_with_the_sender_or_when_it_is_removed() {
    let mut desk = Desk::with("timeout", json!({}));
    desk.put("a");
    assert_eq!(desk.wakes_in(), None);
    desk.remove(0);
    assert_eq!(desk.out(), [Piece::Close]);
    let mut desk = Desk::with("timeout", json!({}));
    desk.chain.put(Piece::End);
    assert_eq!(desk.out(), [Piece::Close]);
}

#[test]
fn reset_peer_resets_some_time_after_something_came() {
    let mut desk = Desk::with("reset_peer", json!({ "timeout": 100 }));
    assert_eq!(desk.wakes_in(), None);
    desk.put("a");
    assert_eq!(desk.wakes_in(), Some(100));
    desk.pass(100);
    assert_eq!(desk.out(), [Piece::Reset]);
}

#[test]
fn a_slicer_cuts_into_pieces_near_the_average_with_a_pause_between() {
    let slicer = json!({ "average_size": 10, "size_variation": 3, "delay": 5000 });
    let mut desk = Desk::with("slicer", slicer);
    let text: String = ('a'..='z').cycle().take(500).collect();
    desk.put(&text);
    let mut came = String::new();
    while came.len() < 500 {
        let Next::Out(Piece::Data(bytes)) = desk.chain.next(desk.now) else { panic!("{came}") };
        let left = 500 - came.len();
        assert!((7.min(left)..=13).contains(&bytes.len()), "{}", bytes.len());
        came += std::str::from_utf8(&bytes).unwrap();
        if came.len() < 500 {
            assert_eq!(desk.wakes_in(), Some(5));
            desk.pass(5);
        }
    }
    assert_eq!(came, text);
}

#[test]
fn limit_data_closes_when_so_much_has_passed() {
    let mut desk = Desk::with("limit_data", json!({ "bytes": 5 }));
    desk.put("abc");
    assert_eq!(desk.out(), [data("abc")]);
    desk.put("defg");
    assert_eq!(desk.out(), [data("de"), Piece::Close]);
    let mut desk = Desk::with("limit_data", json!({}));
    assert_eq!(desk.out(), NOTHING);
    desk.put("a");
    assert_eq!(desk.out(), [Piece::Close]);
}

#[test]
fn a_toxic_that_is_changed_lets_go_what_it_delayed_and_counts_on() {
    let mut desk = Desk::with("latency", json!({ "latency": 1000 }));
    desk.put("a");
    assert_eq!(desk.out(), NOTHING);
    desk.update(0, json!({ "attributes": { "latency": 2000 } }));
    assert_eq!(desk.out(), [data("a")]);
    desk.put("b");
    assert_eq!(desk.wakes_in(), Some(2000));
    let mut desk = Desk::with("limit_data", json!({ "bytes": 5 }));
    desk.put("abc");
    desk.out();
    desk.update(0, json!({ "attributes": { "bytes": 4 } }));
    desk.put("defg");
    assert_eq!(desk.out(), [data("d"), Piece::Close]);
}

#[test]
fn a_toxic_that_is_removed_keeps_nothing_and_the_others_go_on() {
    let mut desk = Desk::with("latency", json!({ "latency": 1000 }));
    desk.add("slow_close", json!({ "delay": 1000 }));
    desk.put("a");
    desk.chain.put(Piece::End);
    assert_eq!(desk.out(), NOTHING);
    desk.remove(0);
    assert_eq!(desk.out(), [data("a")]);
    assert_eq!(desk.wakes_in(), Some(1000));
    desk.remove(0);
    assert_eq!(desk.out(), [Piece::End]);
}

#[test]
fn toxics_work_in_a_row() {
    let mut desk = Desk::with("latency", json!({ "latency": 100 }));
    desk.add("limit_data", json!({ "bytes": 2 }));
    desk.put("abc");
    assert_eq!(desk.out(), NOTHING);
    desk.pass(100);
    assert_eq!(desk.out(), [data("ab"), Piece::Close]);
}

#[test]
fn of_a_toxicity_of_zero_nothing_is_seen() {
    for (kind, attributes) in [
        ("latency", json!({ "latency": 1000 })),
        ("bandwidth", json!({})),
        ("slow_close", json!({ "delay": 1000 })),
        ("timeout", json!({})),
        ("reset_peer", json!({})),
        ("slicer", json!({ "average_size": 1, "delay": 1000 })),
        ("limit_data", json!({})),
    ] {
        let mut desk = Desk::with(kind, attributes);
        desk.update(0, json!({ "toxicity": 0 }));
        desk.put("abc");
        desk.chain.put(Piece::End);
        assert_eq!(desk.out(), [data("abc"), Piece::End], "{kind}");
    }
}

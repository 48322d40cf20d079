//! What a toxic does to the bytes of one direction of a connection.
//!
//! A stage is without input, output and clock: pieces are put in, and whoever calls says
//! what time it is and is told what comes out, or when to ask again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::attributes::{Attributes, Bandwidth, Latency, Slicer};
use super::toxic::Toxic;

/// How many pieces may be under way in a latency, so that it does not limit the rate as well.
const UNDER_WAY: usize = 1024;

/// What passes through stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Bytes.
    Data(Bytes),
    /// Whoever sends has ended; the other direction goes on.
    End,
    /// A toxic closes the connection.
    Close,
    /// A toxic resets it.
    Reset,
}

/// What a stage does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// This comes out.
    Out(Piece),
    /// Nothing does before this moment, or before something is put in.
    Wait(Option<Instant>),
}

/// A toxic on one direction of one connection.
#[derive(Debug)]
pub(super) struct Stage {
    toxic: Arc<Toxic>,
    /// Whether the toss made it work here.
    applies: bool,
    waiting: VecDeque<(Instant, Piece)>,
    /// When it began, or something last came.
    active: Instant,
    /// When the first of what waits may go, once that was decided.
    due: Option<Instant>,
    /// How many bytes have come out.
    passed: u64,
    /// When something first came since the toxic is as it is.
    first: Option<Instant>,
    has_ended: bool,
}

impl Stage {
    pub(super) fn new(toxic: Arc<Toxic>, now: Instant) -> Self {
        Stage {
            applies: toxic.applies(),
            toxic,
            waiting: VecDeque::new(),
            active: now,
            due: None,
            passed: 0,
            first: None,
            has_ended: false,
        }
    }

    pub(super) fn toxic(&self) -> &Toxic {
        &self.toxic
    }

    /// The toxic was changed. What it delays is delayed no longer, as little as it would be
    /// if the toxic were gone.
    pub(super) fn update(&mut self, toxic: Arc<Toxic>, now: Instant) {
        self.applies = toxic.applies();
        self.toxic = toxic;
        self.active = now;
        self.due = (!self.waiting.is_empty()).then_some(now);
        self.first = self.due;
    }

    /// The toxic is gone; what it was to do still is let through. What it was silent about
    /// can never come right again, so a `timeout` closes the connection.
    pub(super) fn dissolve(self) -> Vec<Piece> {
        let mut rest: Vec<Piece> = self.waiting.into_iter().map(|(_, piece)| piece).collect();
        if self.applies && matches!(self.toxic.attributes, Attributes::Timeout(_)) {
            rest.push(Piece::Close);
        }
        rest
    }

    /// Whether another piece can be put in.
    pub(super) fn accepts(&self) -> bool {
        match self.toxic.attributes {
            Attributes::Latency(_) => self.waiting.len() < UNDER_WAY,
            _ => self.waiting.is_empty(),
        }
    }

    pub(super) fn put(&mut self, piece: Piece, now: Instant) {
        self.active = now;
        self.first.get_or_insert(now);
        self.waiting.push_back((now, piece));
    }

    /// What comes out at this moment.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        if self.has_ended {
            self.waiting.clear();
            return Next::Wait(None);
        }
        let next = if self.applies { self.effect(now) } else { self.through() };
        if let Next::Out(piece) = &next {
            match piece {
                Piece::Data(bytes) => self.passed += bytes.len() as u64,
                Piece::End | Piece::Close | Piece::Reset => self.has_ended = true,
            }
        }
        next
    }

    fn effect(&mut self, now: Instant) -> Next {
        let toxic = self.toxic.clone();
        match &toxic.attributes {
            Attributes::Latency(it) => self.latency(it, now),
            Attributes::Bandwidth(it) => self.bandwidth(it, now),
            Attributes::SlowClose(it) => self.slow_close(milliseconds(it.delay), now),
            Attributes::Timeout(it) => self.timeout(milliseconds(it.timeout), now),
            Attributes::ResetPeer(it) => self.reset_peer(milliseconds(it.timeout), now),
            Attributes::Slicer(it) => self.slicer(it, now),
            Attributes::LimitData(it) => self.limit_data(it.bytes),
            Attributes::PostgresCut(_) => self.through(),
        }
    }

    /// Takes the first of what waits.
    fn through(&mut self) -> Next {
        self.due = None;
        match self.waiting.pop_front() {
            Some((_, piece)) => Next::Out(piece),
            None => Next::Wait(None),
        }
    }

    /// Takes it when its time has come, which this decides when it is first looked at.
    fn through_at(&mut self, now: Instant, decide: impl FnOnce(Instant) -> Instant) -> Next {
        let Some((arrived, _)) = self.waiting.front() else { return Next::Wait(None) };
        let due = *self.due.get_or_insert_with(|| decide(*arrived));
        if due <= now { self.through() } else { Next::Wait(Some(due)) }
    }

    fn has_data(&self) -> bool {
        matches!(self.waiting.front(), Some((_, Piece::Data(_))))
    }

    fn latency(&mut self, latency: &Latency, now: Instant) -> Next {
        if !self.has_data() {
            return self.through();
        }
        let jitter = match latency.jitter {
            0 => 0,
            jitter => rand::random_range(0..jitter.saturating_mul(2)),
        };
        let delay = (latency.latency + jitter).saturating_sub(latency.jitter);
        self.through_at(now, |arrived| arrived + milliseconds(delay))
    }

    fn bandwidth(&mut self, bandwidth: &Bandwidth, now: Instant) -> Next {
        let Some((_, Piece::Data(bytes))) = self.waiting.front_mut() else {
            return self.through();
        };
        if bandwidth.rate == 0 {
            return Next::Wait(None);
        }
        // A tenth of a second's worth at most goes at once.
        let most = usize::try_from(bandwidth.rate.saturating_mul(100)).unwrap_or(usize::MAX);
        if bytes.len() > most {
            let first = bytes.split_to(most);
            let arrived = self.active;
            self.waiting.push_front((arrived, Piece::Data(first)));
            return self.bandwidth(bandwidth, now);
        }
        let takes = Duration::from_micros(bytes.len() as u64 * 1000 / bandwidth.rate);
        self.through_at(now, |_| now + takes)
    }

    fn slow_close(&mut self, delay: Duration, now: Instant) -> Next {
        if self.has_data() {
            return self.through();
        }
        self.through_at(now, |arrived| arrived + delay)
    }

    fn timeout(&mut self, timeout: Duration, now: Instant) -> Next {
        while self.has_data() {
            self.waiting.pop_front();
        }
        if self.waiting.pop_front().is_some() {
            return Next::Out(Piece::Close);
        }
        let end = self.active + timeout;
        match timeout.is_zero() {
            true => Next::Wait(None),
            false if end <= now => Next::Out(Piece::Close),
            false => Next::Wait(Some(end)),
        }
    }

    fn reset_peer(&mut self, timeout: Duration, now: Instant) -> Next {
        self.waiting.clear();
        match self.first.map(|first| first + timeout) {
            Some(end) if end <= now => Next::Out(Piece::Reset),
            other => Next::Wait(other),
        }
    }

    fn slicer(&mut self, slicer: &Slicer, now: Instant) -> Next {
        let Some((_, Piece::Data(bytes))) = self.waiting.front_mut() else {
            return self.through();
        };
        let size = slice(bytes.len() as u64, slicer);
        let delay = Duration::from_micros(slicer.delay);
        let due = *self.due.get_or_insert(now);
        if due > now {
            return Next::Wait(Some(due));
        }
        let first = bytes.split_to(size);
        if bytes.is_empty() {
            self.waiting.pop_front();
        }
        self.due = Some(now + delay);
        Next::Out(Piece::Data(first))
    }

    fn limit_data(&mut self, limit: u64) -> Next {
        let left = limit.saturating_sub(self.passed);
        match self.waiting.pop_front() {
            Some((_, Piece::Data(_))) | None if left == 0 && self.first.is_some() => {
                Next::Out(Piece::Close)
            }
            None => Next::Wait(None),
            Some((_, Piece::Data(mut bytes))) => {
                let size = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                Next::Out(Piece::Data(bytes.split_to(size)))
            }
            Some((_, other)) => Next::Out(other),
        }
    }
}

/// The size of the first of the slices of so many bytes.
fn slice(total: u64, slicer: &Slicer) -> usize {
    let (least, most) = (
        slicer.average_size.saturating_sub(slicer.size_variation).max(1),
        slicer.average_size.saturating_add(slicer.size_variation).max(1),
    );
    let size = rand::random_range(least..=most).min(total);
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// So long that it never ends, if that is meant, and still a time.
fn milliseconds(count: u64) -> Duration {
    const LONGEST: u64 = 1000 * 60 * 60 * 24 * 365;
    Duration::from_millis(count.min(LONGEST))
}

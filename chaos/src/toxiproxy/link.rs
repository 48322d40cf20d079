//! One direction of a connection: reads, lets the chain of toxics do its work, and writes.

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::chain::Chain;
use super::stage::{Next, Piece};
use super::toxic::Direction;
use super::toxics::Toxics;
use crate::proxy::Ending;

/// How much is read at once, as in Toxiproxy.
const CHUNK: usize = 32 * 1024;

/// One direction of a connection.
pub(super) struct Link<'a> {
    toxics: &'a Toxics,
    direction: Direction,
    changes: watch::Receiver<()>,
    /// The version of the toxics that the chain is made of.
    version: Option<u64>,
    chain: Chain,
}

impl<'a> Link<'a> {
    pub(super) fn new(toxics: &'a Toxics, direction: Direction) -> Self {
        let (changes, chain) = (toxics.changes(), Chain::default());
        Link { toxics, direction, changes, version: None, chain }
    }

    /// Takes over what was changed. Done before anything is put in or let out, so that a
    /// change holds for all that comes after it.
    fn keep_up(&mut self, now: Instant) {
        if let Some((version, toxics)) = self.toxics.since(self.version, self.direction) {
            self.version = Some(version);
            self.chain.become_these(&toxics, now);
        }
    }

    /// Passes on what comes, until it has ended; the answer is how the connection is to end,
    /// if it is.
    pub(super) async fn run(
        mut self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> Option<Ending> {
        let mut buffer = vec![0; CHUNK];
        let mut has_ended = false;
        loop {
            let now = Instant::now();
            self.keep_up(now);
            let wake = match self.chain.next(now) {
                Next::Out(piece) => match write(piece, &mut to).await {
                    Ok(Course::On) => continue,
                    Ok(Course::Ended(ending)) => return ending,
                    // Nobody is there to write to. The other direction says so in its time.
                    Err(_) => {
                        discard(&mut from, &mut buffer).await;
                        return None;
                    }
                },
                Next::Wait(wake) => wake,
            };
            tokio::select! {
                biased;
                changed = self.changes.changed() => if changed.is_err() { return Some(Ending::Close) },
                () = wait_until(wake) => {}
                read = from.read(&mut buffer), if self.chain.accepts() && !has_ended => {
                    let piece = match read {
                        Ok(0) => Piece::End,
                        Ok(length) => Piece::Data(Bytes::copy_from_slice(&buffer[..length])),
                        // As abruptly as it was ended for us.
                        Err(_) => return Some(Ending::Reset),
                    };
                    has_ended = piece == Piece::End;
                    self.keep_up(Instant::now());
                    self.chain.put(piece);
                }
            }
        }
    }
}

/// What follows from a piece that came out.
enum Course {
    On,
    Ended(Option<Ending>),
}

async fn write(piece: Piece, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<Course> {
    Ok(match piece {
        Piece::Data(bytes) => {
            to.write_all(&bytes).await?;
            Course::On
        }
        Piece::End => {
            to.shutdown().await?;
            Course::Ended(None)
        }
        Piece::Close => {
            // What was written before is still to arrive.
            to.shutdown().await?;
            Course::Ended(Some(Ending::Close))
        }
        Piece::Reset => Course::Ended(Some(Ending::Reset)),
    })
}

/// Reads to the end, for nobody.
async fn discard(from: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) {
    while from.read(buffer).await.is_ok_and(|length| length > 0) {}
}

async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

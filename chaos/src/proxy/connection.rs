//! The input and output of one connection: it reads, asks the session what to do with what
//! it has read, and does that.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use super::session::{Ending, Step};
use super::switchboard::Switchboard;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// Before accepting is tried again after the system refused, so as not to spin.
const BREATH: Duration = Duration::from_millis(10);

/// Where the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upstream {
    /// At a port.
    Tcp(SocketAddr),
    /// At a Unix socket, such as `/tmp/.s.PGSQL.5432`.
    Unix(PathBuf),
}

/// Both directions of a connection to a server.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Upstream {
    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Upstream::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Upstream::Unix(path) => Box::new(UnixStream::connect(path).await?),
        })
    }
}

/// A connection's place on the switchboard, given back however its task ends.
pub(crate) struct Seat {
    switchboard: Arc<Switchboard>,
    number: u64,
}

impl Seat {
    /// A connection begins.
    pub(crate) fn take(switchboard: Arc<Switchboard>) -> Self {
        let number = switchboard.connect();
        Seat { switchboard, number }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.switchboard.disconnect(self.number);
    }
}

/// The next client. What keeps one from being accepted passes, be it that it has gone again
/// or that too many files are open.
pub(crate) async fn next_client(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((client, _)) => return client,
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

/// Serves a client until its connection ends.
pub(super) async fn serve(
    mut client: TcpStream,
    upstream: Upstream,
    switchboard: Arc<Switchboard>,
) {
    let seat = Seat::take(switchboard);
    let ending = match (client.set_nodelay(true), upstream.connect().await) {
        (Ok(()), Ok(server)) => {
            let (from_client, to_client) = client.split();
            let (from_server, to_server) = tokio::io::split(server);
            exchange(&seat, from_client, to_client, from_server, to_server).await
        }
        _ => Ending::Reset,
    };
    if ending == Ending::Reset {
        // If the system refuses, the client is gone already.
        let _ = client.set_zero_linger();
    }
}

/// Passes bytes both ways, until the owner or a fault ends it or the server has ended. When
/// only the client has, the server still does what it was sent.
pub(crate) async fn exchange(
    seat: &Seat,
    from_client: impl AsyncRead + Unpin,
    to_client: impl AsyncWrite + Unpin,
    from_server: impl AsyncRead + Unpin,
    to_server: impl AsyncWrite + Unpin,
) -> Ending {
    let requests = client_to_server(seat, from_client, to_server);
    let answers = server_to_client(seat, from_server, to_client);
    tokio::pin!(requests, answers);
    let mut requests_end = false;
    loop {
        let ended = tokio::select! {
            biased;
            ending = seat.switchboard.ended(seat.number) => Some(ending),
            ended = &mut requests, if !requests_end => { requests_end = true; ended }
            ending = &mut answers => Some(ending),
        };
        if let Some(ending) = ended {
            return ending;
        }
    }
}

/// Passes on what the client sends, until it has ended; the answer is how the connection is
/// to end, if it is.
async fn client_to_server(
    seat: &Seat,
    mut client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
) -> Option<Ending> {
    let mut buffer = vec![0; CHUNK];
    loop {
        // A client that resets its connection is as gone as one that closes it.
        let length = client.read(&mut buffer).await.unwrap_or(0);
        if length == 0 {
            break;
        }
        let steps = seat.switchboard.client_sent(seat.number, &buffer[..length]);
        match perform(seat, steps, &mut server).await {
            Ok(None) => {}
            Ok(Some(ending)) => return Some(ending),
            // The server is gone, and the other direction learns that too.
            Err(_) => return None,
        }
    }
    if seat.switchboard.swallows(seat.number) {
        return Some(Ending::Close);
    }
    // The server still does what it was sent, and then ends.
    let _ = server.shutdown().await;
    None
}

/// The same for what the server sends; with its end the connection ends.
async fn server_to_client(
    seat: &Seat,
    mut server: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
) -> Ending {
    let mut buffer = vec![0; CHUNK];
    let mut client_is_gone = false;
    loop {
        let (length, ending) = match server.read(&mut buffer).await {
            Ok(0) => (0, Ending::Close),
            Ok(length) => (length, Ending::Close),
            Err(_) => (0, Ending::Reset),
        };
        if length == 0 {
            if seat.switchboard.swallows(seat.number) {
                // That too: the client has to find out by itself.
                std::future::pending::<()>().await;
            }
            return ending;
        }
        let steps = seat.switchboard.server_sent(seat.number, &buffer[..length]);
        let performed = match client_is_gone {
            false => perform(seat, steps, &mut client).await,
            true => perform(seat, steps, &mut tokio::io::sink()).await,
        };
        match performed {
            Ok(None) => {}
            Ok(Some(ending)) => return ending,
            // What the client was sent before it left is to reach the server all the same.
            Err(_) => client_is_gone = true,
        }
    }
}

/// Does what the session says; the answer is how the connection is to end, if it is.
async fn perform(
    seat: &Seat,
    steps: Vec<Step>,
    writer: &mut (impl AsyncWrite + Unpin),
) -> io::Result<Option<Ending>> {
    let performed = perform_each(seat, steps, writer).await;
    if performed.is_err() {
        // What was held has nowhere to go.
        seat.switchboard.released(seat.number);
    }
    performed
}

async fn perform_each(
    seat: &Seat,
    steps: Vec<Step>,
    writer: &mut (impl AsyncWrite + Unpin),
) -> io::Result<Option<Ending>> {
    for step in steps {
        match step {
            Step::Pass(bytes) => writer.write_all(&bytes).await?,
            Step::Trickle(bytes) => {
                for byte in bytes.chunks(1) {
                    writer.write_all(byte).await?;
                }
            }
            Step::CommitPassed(operation) => seat.switchboard.commit_passed(operation),
            Step::Hold(time) => {
                let told = seat.switchboard.may_go_on(seat.number);
                match time {
                    Some(time) => {
                        let _ = tokio::time::timeout(time, told).await;
                    }
                    None => told.await,
                }
            }
            Step::Released => seat.switchboard.released(seat.number),
            Step::End(ending) => return Ok(Some(ending)),
        }
    }
    Ok(None)
}

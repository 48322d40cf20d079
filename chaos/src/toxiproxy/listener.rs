//! What a proxy does while it is enabled: it listens, and serves every client that comes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::address::{self, Allowed};
use super::link::Link;
use super::toxic::Direction;
use super::toxics::Toxics;
use crate::proxy::{Ending, Seat, exchange, next_client};

/// How much lies between the toxics and the cut.
const BETWEEN: usize = 64 * 1024;

/// A proxy that is enabled. Dropped, it ends too, though not at once.
#[derive(Debug)]
pub(super) struct Listener {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Where the clients of a proxy are led.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub(super) upstream: String,
    pub(super) allowed: Allowed,
    pub(super) toxics: Arc<Toxics>,
}

impl Listener {
    pub(super) async fn start(address: SocketAddr, to: Destination) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, to, stopped));
        Ok(Listener { address, stop, task })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the port and all connections, and returns when they are.
    pub(super) async fn stop(self) {
        drop(self.stop);
        // It can only have ended by itself, of which nothing is left either.
        let _ = self.task.await;
    }
}

async fn serve(listener: TcpListener, to: Destination, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            client = next_client(&listener) => {
                connections.spawn(connect(client, to.clone()));
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Leads a client to the server, until their connection ends.
async fn connect(mut client: TcpStream, to: Destination) {
    let Some(mut server) = reach(&client, &to).await else { return };
    // A cut is between the client and the toxics.
    let (near, far) = tokio::io::duplex(BETWEEN);
    let (from_far, to_far) = tokio::io::split(far);
    let (from_server, to_server) = server.split();
    let toxics = &*to.toxics;
    let mut up = Box::pin(Link::new(toxics, Direction::Upstream).run(from_far, to_server));
    let mut down = Box::pin(Link::new(toxics, Direction::Downstream).run(from_server, to_far));
    let (mut up_ended, mut down_ended, mut is_cut) = (false, false, false);
    let ending = {
        let (from_client, to_client) = client.split();
        let (from_near, to_near) = tokio::io::split(near);
        let seat = Seat::take(to.toxics.switchboard().clone());
        let cut = exchange(&seat, from_client, to_client, from_near, to_near);
        tokio::pin!(cut);
        loop {
            let ended = tokio::select! {
                ending = &mut cut => { is_cut = true; Some(ending) }
                ended = &mut up, if !up_ended => { up_ended = true; ended }
                ended = &mut down, if !down_ended => {
                    down_ended = true;
                    // A close is the end of what the cut passes on, which is still under way.
                    ended.filter(|ending| *ending == Ending::Reset)
                }
            };
            if let Some(ending) = ended {
                break ending;
            }
        }
    };
    if ending == Ending::Reset {
        // If the system refuses, the client is gone already.
        let _ = client.set_zero_linger();
    }
    drop(client);
    if is_cut && !up_ended {
        // What the client sent before is still under way to the server.
        up.await;
    } else {
        drop(up);
        drop(down);
        if ending == Ending::Reset {
            let _ = server.set_zero_linger();
        }
    }
}

/// Connects to the server. Without it the client is closed.
async fn reach(client: &TcpStream, to: &Destination) -> Option<TcpStream> {
    // Asked again each time, for a name may lead elsewhere by now.
    let addresses = address::upstream(&to.upstream, &to.allowed).await.ok()?;
    client.set_nodelay(true).ok()?;
    let server = TcpStream::connect(&*addresses).await.ok()?;
    server.set_nodelay(true).ok()?;
    Some(server)
}

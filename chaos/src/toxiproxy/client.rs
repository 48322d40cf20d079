//! The network faults of a real Toxiproxy, by the client `toxiproxy_rust`.
//!
//! That client blocks, so each call gets a thread that may wait. It does not look at the
//! status of an answer, so every toxic is read back after it was set. It has no `reset_peer`.

use std::collections::HashMap;
use std::net::{SocketAddr, ToSocketAddrs};

use tokio::task::JoinError;
use toxiproxy_rust::client::Client;
use toxiproxy_rust::proxy::{Proxy, ProxyPack};
use toxiproxy_rust::toxic::ToxicPack;

use super::address::is_here;

/// The environment variable that says where a Toxiproxy answers.
pub const URL_VARIABLE: &str = "STAGEFAULT_TOXIPROXY_URL";

/// Why a Toxiproxy did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The URL is none of a Toxiproxy.
    #[error("{0:?} is not where a Toxiproxy answers; write it as in http://127.0.0.1:8474")]
    BadUrl(String),
    /// It is another machine's, and so may be somebody's.
    #[error("{0} is not this machine; a Toxiproxy is only driven on this one")]
    Remote(SocketAddr),
    /// It does not answer, or not as a Toxiproxy does.
    #[error("Toxiproxy at {address}: {reason}")]
    Failed {
        /// Where it is.
        address: SocketAddr,
        /// What the client says.
        reason: String,
    },
    /// It took a toxic and has another, or none.
    #[error("Toxiproxy at {address} was asked for {asked} and has {found}")]
    NotSet {
        /// Where it is.
        address: SocketAddr,
        /// What it was asked for.
        asked: String,
        /// What it has.
        found: String,
    },
    /// The thread of the call is gone.
    #[error("the call to Toxiproxy broke off: {0}")]
    BrokeOff(#[from] JoinError),
}

/// A fault of the network. Times are in milliseconds but for the slicer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkFault {
    /// Everything is late by this, more or less the jitter.
    Latency {
        /// How late.
        latency: u32,
        /// By how much more or less.
        jitter: u32,
    },
    /// Only so many kilobytes pass in a second.
    Bandwidth {
        /// How many.
        rate: u32,
    },
    /// The end of a connection is late by this.
    SlowClose {
        /// How late.
        delay: u32,
    },
    /// Nothing passes, and the connection is closed after a silence of this; 0: it is not.
    Timeout {
        /// How long.
        timeout: u32,
    },
    /// What passes is cut into pieces.
    Slicer {
        /// How many bytes each.
        average_size: u32,
        /// By how many more or less.
        size_variation: u32,
        /// The pause between two, in microseconds.
        delay: u32,
    },
    /// The connection is closed after so many bytes.
    LimitData {
        /// How many.
        bytes: u32,
    },
}

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// From the client to the server.
    Upstream,
    /// From the server to the client.
    Downstream,
}

/// A proxy of a Toxiproxy, in front of one server.
#[derive(Clone, Debug)]
pub struct NetworkLine {
    api: SocketAddr,
    name: String,
    address: SocketAddr,
}

impl NetworkFault {
    fn kind(self) -> &'static str {
        match self {
            NetworkFault::Latency { .. } => "latency",
            NetworkFault::Bandwidth { .. } => "bandwidth",
            NetworkFault::SlowClose { .. } => "slow_close",
            NetworkFault::Timeout { .. } => "timeout",
            NetworkFault::Slicer { .. } => "slicer",
            NetworkFault::LimitData { .. } => "limit_data",
        }
    }

    fn attributes(self) -> HashMap<String, u32> {
        let attributes = match self {
            NetworkFault::Latency { latency, jitter } => {
                vec![("latency", latency), ("jitter", jitter)]
            }
            NetworkFault::Bandwidth { rate } => vec![("rate", rate)],
            NetworkFault::SlowClose { delay } => vec![("delay", delay)],
            NetworkFault::Timeout { timeout } => vec![("timeout", timeout)],
            NetworkFault::Slicer { average_size, size_variation, delay } => vec![
                ("average_size", average_size),
                ("size_variation", size_variation),
                ("delay", delay),
            ],
            NetworkFault::LimitData { bytes } => vec![("bytes", bytes)],
        };
        attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn put_on(self, proxy: &Proxy, stream: Stream) {
        let stream = stream.name().to_owned();
        match self {
            NetworkFault::Latency { latency, jitter } => {
                proxy.with_latency(stream, latency, jitter, 1.0)
            }
            NetworkFault::Bandwidth { rate } => proxy.with_bandwidth(stream, rate, 1.0),
            NetworkFault::SlowClose { delay } => proxy.with_slow_close(stream, delay, 1.0),
            NetworkFault::Timeout { timeout } => proxy.with_timeout(stream, timeout, 1.0),
            NetworkFault::Slicer { average_size, size_variation, delay } => {
                proxy.with_slicer(stream, average_size, size_variation, delay, 1.0)
            }
            NetworkFault::LimitData { bytes } => proxy.with_limit_data(stream, bytes, 1.0),
        };
    }
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Stream::Upstream => "upstream",
            Stream::Downstream => "downstream",
        }
    }
}

impl NetworkLine {
    /// Makes a proxy of this name, on a port of its own of this machine, in front of a server.
    /// One of that name that is there already is replaced.
    ///
    /// # Errors
    /// That the URL is none, leads to another machine, or no Toxiproxy answers there.
    pub async fn open(url: &str, name: &str, upstream: SocketAddr) -> Result<Self, ClientError> {
        let bad = || ClientError::BadUrl(url.to_owned());
        let host = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/').to_owned();
        let found = tokio::task::spawn_blocking(move || host.to_socket_addrs());
        let api = found.await?.ok().and_then(|mut it| it.next()).ok_or_else(bad)?;
        if !is_here(&api) {
            return Err(ClientError::Remote(api));
        }
        let pack = ProxyPack::new(name.to_owned(), "127.0.0.1:0".to_owned(), upstream.to_string());
        let made = ask(api, move |client| {
            let made = client.populate(vec![pack])?;
            let listen = made.first().map(|proxy| proxy.proxy_pack.listen.clone());
            listen.ok_or_else(|| "it made no proxy".to_owned())
        });
        let listen = made.await?;
        let failed = |_| ClientError::Failed { address: api, reason: format!("listen {listen}") };
        let address = listen.parse().map_err(failed)?;
        Ok(NetworkLine { api, name: name.to_owned(), address })
    }

    /// Where its clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Puts a fault on it, and makes sure that it is there.
    ///
    /// # Errors
    /// That it is not.
    pub async fn put(&self, fault: NetworkFault, stream: Stream) -> Result<(), ClientError> {
        let name = self.name.clone();
        let toxics = ask(self.api, move |client| {
            let proxy = client.find_proxy(&name)?;
            fault.put_on(&proxy, stream);
            proxy.toxics()
        });
        let toxics = toxics.await?;
        let is_asked = |toxic: &ToxicPack| {
            toxic.r#type == fault.kind()
                && toxic.stream == stream.name()
                && toxic.toxicity == 1.0
                && toxic.attributes == fault.attributes()
        };
        if toxics.iter().any(is_asked) {
            return Ok(());
        }
        let (asked, found) = (format!("{fault:?} {stream:?}"), format!("{toxics:?}"));
        Err(ClientError::NotSet { address: self.api, asked, found })
    }

    /// Takes all faults away, and makes sure that they are gone.
    ///
    /// # Errors
    /// That they are not.
    pub async fn clear(&self) -> Result<(), ClientError> {
        let name = self.name.clone();
        let left = ask(self.api, move |client| client.find_and_reset_proxy(&name)?.toxics());
        let left = left.await?;
        if left.is_empty() {
            return Ok(());
        }
        let (asked, found) = ("no toxics".to_owned(), format!("{left:?}"));
        Err(ClientError::NotSet { address: self.api, asked, found })
    }

    /// Closes its port and connections, or opens it again, and makes sure of that.
    ///
    /// # Errors
    /// That it did not.
    pub async fn enable(&self, enabled: bool) -> Result<(), ClientError> {
        let name = self.name.clone();
        let is_enabled = ask(self.api, move |client| {
            let proxy = client.find_proxy(&name)?;
            if enabled {
                proxy.enable()?
            } else {
                proxy.disable()?
            }
            Ok(client.find_proxy(&name)?.proxy_pack.enabled)
        });
        let is_enabled = is_enabled.await?;
        if is_enabled == enabled {
            return Ok(());
        }
        let (asked, found) = (format!("enabled: {enabled}"), format!("enabled: {is_enabled}"));
        Err(ClientError::NotSet { address: self.api, asked, found })
    }

    /// Removes it, with its connections.
    ///
    /// # Errors
    /// That it is there still.
    pub async fn remove(self) -> Result<(), ClientError> {
        let name = self.name.clone();
        let is_there = ask(self.api, move |client| {
            client.find_proxy(&name)?.delete()?;
            Ok(client.all()?.contains_key(&name))
        });
        match is_there.await? {
            false => Ok(()),
            true => {
                let (asked, found) = ("no proxy".to_owned(), self.name.clone());
                Err(ClientError::NotSet { address: self.api, asked, found })
            }
        }
    }
}

/// Asks in a thread that may wait. The client is made and dropped there too, for it holds a
/// runtime of its own.
async fn ask<T: Send + 'static>(
    address: SocketAddr,
    ask: impl FnOnce(&Client) -> Result<T, String> + Send + 'static,
) -> Result<T, ClientError> {
    let asked = tokio::task::spawn_blocking(move || ask(&Client::new(address))).await?;
    asked.map_err(|reason| ClientError::Failed { address, reason })
}

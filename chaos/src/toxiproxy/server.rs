//! The HTTP server.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::address::{self, Allowed};
use super::api::{self, Answer, Body, Request};
use super::collection::Collection;
use super::error::{ApiError, read_objects};
use crate::proxy::next_client;

/// No request is longer: a thousand proxies are a tenth of it.
const LONGEST_BODY: usize = 1 << 20;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It is not to be open to other machines.
    #[error("{0} is open to other machines; listen on this one only, as on 127.0.0.1:8474")]
    Open(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// What it is to begin with are no proxies.
    #[error("{0}")]
    NoProxies(String),
    /// The system refuses a proxy, for instance because its port is taken.
    #[error("{0}")]
    Refused(String),
}

/// A server of Toxiproxy's HTTP API.
///
/// It listens on this machine only, and so do its proxies. Dropped, or when what it serves
/// until has come, everything that it opened is closed.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use stagefault_chaos::toxiproxy::{Allowed, ToxiproxyServer};
///
/// let server = ToxiproxyServer::bind(([127, 0, 0, 1], 8474).into(), Allowed::default()).await?;
/// println!("listening on {}", server.address());
/// server.serve(std::future::pending()).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ToxiproxyServer {
    listener: TcpListener,
    address: SocketAddr,
    collection: Arc<Mutex<Collection>>,
}

impl ToxiproxyServer {
    /// Opens the port; requests wait until it is served.
    ///
    /// # Errors
    /// That the address is open to others, or the system's.
    pub async fn bind(address: SocketAddr, allowed: Allowed) -> Result<Self, ServeError> {
        if !address::is_here(&address) {
            return Err(ServeError::Open(address));
        }
        let failed = |error| ServeError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let collection = Arc::new(Mutex::new(Collection::new(allowed)));
        Ok(ToxiproxyServer { listener, address, collection })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes the proxies of a configuration, the JSON list that `POST /populate` takes.
    ///
    /// # Errors
    /// That it is none, or a proxy cannot be made.
    pub async fn populate(&self, configuration: &[u8]) -> Result<(), ServeError> {
        let failed = |ApiError { error, status }| match status {
            500 => ServeError::Refused(error),
            _ => ServeError::NoProxies(error),
        };
        let written = read_objects(configuration).map_err(failed)?;
        let populated = self.collection.lock().await.populate(written).await;
        populated.map(drop).map_err(failed)
    }

    /// Answers requests until this has come, and then closes everything.
    pub async fn serve(self, until: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        let mut until = pin!(until);
        loop {
            tokio::select! {
                biased;
                () = &mut until => break,
                Some(_) = connections.join_next() => {}
                client = next_client(&self.listener) => {
                    connections.spawn(converse(client, self.collection.clone()));
                }
            }
        }
        connections.shutdown().await;
        self.collection.lock().await.close().await;
    }
}

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, collection: Arc<Mutex<Collection>>) {
    let service = service_fn(|request| handle(request, &collection));
    // That a client broke off is its own matter.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn handle(
    request: hyper::Request<Incoming>,
    collection: &Mutex<Collection>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // A page in a browser on this machine must not be able to ask for anything.
    let is_browser = |agent: &HeaderValue| agent.as_bytes().starts_with(b"Mozilla/");
    if request.headers().get(USER_AGENT).is_some_and(is_browser) {
        return Ok(respond(Answer { status: 403, body: Body::Text("User agent not allowed\n") }));
    }
    let method = request.method().to_string();
    let path = request.uri().path().split('/').skip(1);
    let path = path.map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned()).collect();
    let body = Limited::new(request.into_body(), LONGEST_BODY).collect().await;
    Ok(respond(match body {
        Ok(body) => {
            let body = body.to_bytes().to_vec();
            api::answer(collection, &Request { method, path, body }).await
        }
        Err(_) => Answer { status: 413, body: Body::Text("request body too large\n") },
    }))
}

fn respond(answer: Answer) -> Response<Full<Bytes>> {
    let (kind, bytes) = match answer.body {
        Body::Nothing => (None, Bytes::new()),
        Body::Json(value) => (Some("application/json"), format!("{value}\n").into()),
        Body::Text(text) => (Some("text/plain; charset=utf-8"), text.into()),
    };
    let mut response = Response::new(Full::new(bytes));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(kind) = kind {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}

//! A server of the API, somebody who asks it, and somebody behind its proxies who sends
//! everything back.

use std::net::SocketAddr;

use serde_json::{Value, json};
use stagefault_chaos::toxiproxy::{Allowed, ToxiproxyServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server, and what is behind its proxies.
pub struct Desk {
    address: SocketAddr,
    echo: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A server that nobody asks yet.
pub async fn server(allowed: Allowed) -> ToxiproxyServer {
    ToxiproxyServer::bind(([127, 0, 0, 1], 0).into(), allowed).await.unwrap()
}

/// Sends back what comes, until its client ends.
async fn send_back(mut client: TcpStream) {
    let (mut from, mut to) = client.split();
    // A client that is cut off is what these tests are about.
    let _ = tokio::io::copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

impl Desk {
    pub async fn new() -> Self {
        let server = server(Allowed::default()).await;
        let address = server.address();
        let echo = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let echo_address = echo.local_addr().unwrap();
        let serving = tokio::spawn(server.serve(std::future::pending()));
        let echoing = tokio::spawn(async move {
            while let Ok((client, _)) = echo.accept().await {
                tokio::spawn(send_back(client));
            }
        });
        Desk { address, echo: echo_address, tasks: vec![serving, echoing] }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Who sends everything back.
    pub fn echo(&self) -> SocketAddr {
        self.echo
    }

    /// Asks, and gets a status and JSON or text.
    pub async fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        ask(self.address, method, path, "", &body).await
    }

    /// Asks, and gets what it must.
    pub async fn expect(&self, status: u16, method: &str, path: &str, body: Value) -> Value {
        let (found, answer) = self.ask(method, path, &body).await;
        assert_eq!(found, status, "{method} {path} {body}: {answer}");
        answer
    }

    /// A proxy of this name in front of an address; the answer is where it listens.
    pub async fn proxy(&self, name: &str, upstream: SocketAddr) -> SocketAddr {
        let body = json!({ "name": name, "listen": "127.0.0.1:0", "upstream": upstream });
        let proxy = self.expect(201, "POST", "/proxies", body).await;
        proxy["listen"].as_str().unwrap().parse().unwrap()
    }

    /// Puts a toxic on a proxy.
    pub async fn toxic(&self, proxy: &str, kind: &str, stream: &str, attributes: Value) {
        let body = json!({ "type": kind, "stream": stream, "attributes": attributes });
        self.expect(200, "POST", &format!("/proxies/{proxy}/toxics"), body).await;
    }
}

/// Asks with further headers, each with its line end.
pub async fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_else(|_| body.into()))
}

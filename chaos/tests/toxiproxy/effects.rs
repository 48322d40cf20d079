//! What each toxic does to a connection. Times are lower bounds: what is to be late may be
//! later still.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::desk::Desk;

/// Longer than any test takes.
const AN_HOUR: u64 = 3_600_000;

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// Sends this and waits until it has come back.
async fn round(client: &mut TcpStream, bytes: &[u8]) {
    client.write_all(bytes).await.unwrap();
    let mut back = vec![0; bytes.len()];
    client.read_exact(&mut back).await.unwrap();
    assert!(back == bytes);
}

/// A proxy with one toxic, and a connection that has been through it before.
async fn with(kind: &str, stream: &str, attributes: Value) -> (Desk, TcpStream) {
    let desk = Desk::new().await;
    let mut client = connect(desk.proxy("p", desk.echo()).await).await;
    round(&mut client, b"before").await;
    desk.toxic("p", kind, stream, attributes).await;
    (desk, client)
}

const STREAMS: [&str; 2] = ["upstream", "downstream"];

#[tokio::test]
async fn without_toxics_everything_passes_whole_and_the_ends_too() {
    let desk = Desk::new().await;
    let mut client = connect(desk.proxy("p", desk.echo()).await).await;
    let bytes: Vec<u8> = (0..3_000_000u32).map(|number| number.to_le_bytes()[0]).collect();
    let (mut from, mut to) = client.split();
    let mut back = Vec::new();
    let (sent, received) = tokio::join!(
        async {
            to.write_all(&bytes).await?;
            to.shutdown().await
        },
        from.read_to_end(&mut back)
    );
    sent.unwrap();
    received.unwrap();
    assert!(back == bytes);
}

#[tokio::test]
async fn latency_delays() {
    for stream in STREAMS {
        let (_desk, mut client) =
            with("latency", stream, json!({ "latency": 120, "jitter": 20 })).await;
        let started = Instant::now();
        round(&mut client, b"late").await;
        assert!(started.elapsed() >= Duration::from_millis(100), "{stream}");
    }
}

#[tokio::test]
async fn bandwidth_limits_the_rate() {
    for stream in STREAMS {
        let (_desk, mut client) = with("bandwidth", stream, json!({ "rate": 100 })).await;
        let started = Instant::now();
        round(&mut client, &[7; 20_000]).await;
        assert!(started.elapsed() >= Duration::from_millis(195), "{stream}");
    }
}

#[tokio::test]
async fn slow_close_delays_the_end() {
    for stream in STREAMS {
        let (_desk, mut client) = with("slow_close", stream, json!({ "delay": 100 })).await;
        round(&mut client, b"at once").await;
        let started = Instant::now();
        client.shutdown().await.unwrap();
        assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
        assert!(started.elapsed() >= Duration::from_millis(100), "{stream}");
    }
}

#[tokio::test]
async fn timeout_swallows_and_then_closes() {
    for stream in STREAMS {
        let (_desk, mut client) = with("timeout", stream, json!({ "timeout": 100 })).await;
        let started = Instant::now();
        client.write_all(b"lost").await.unwrap();
        assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0, "{stream}");
        assert!(started.elapsed() >= Duration::from_millis(100), "{stream}");
    }
}

#[tokio::test]
async fn a_timeout_without_end_closes_when_it_is_removed() {
    let (desk, mut client) = with("timeout", "downstream", json!({ "timeout": 0 })).await;
    client.write_all(b"lost").await.unwrap();
    desk.expect(204, "DELETE", "/proxies/p/toxics/timeout_downstream", Value::Null).await;
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
}

#[tokio::test]
async fn reset_peer_resets() {
    for (stream, timeout) in [("upstream", 0), ("downstream", 0), ("upstream", 100)] {
        let (_desk, mut client) = with("reset_peer", stream, json!({ "timeout": timeout })).await;
        let started = Instant::now();
        client.write_all(b"lost").await.unwrap();
        let error = client.read(&mut [0; 1]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{stream}");
        assert!(started.elapsed() >= Duration::from_millis(timeout), "{stream}");
    }
}

#[tokio::test]
async fn a_slicer_sends_piece_by_piece() {
    for stream in STREAMS {
        let slicer = json!({ "average_size": 4, "size_variation": 1, "delay": 10_000 });
        let (_desk, mut client) = with("slicer", stream, slicer).await;
        let started = Instant::now();
        round(&mut client, b"in pieces of three to five bytes").await;
        // 32 bytes are 7 pieces at least, with a pause between two.
        assert!(started.elapsed() >= Duration::from_millis(60), "{stream}");
    }
}

#[tokio::test]
async fn limit_data_closes_after_so_many_bytes() {
    for stream in STREAMS {
        let (_desk, mut client) = with("limit_data", stream, json!({ "bytes": 10 })).await;
        round(&mut client, b"1234567").await;
        client.write_all(b"890 and more").await.unwrap();
        let mut back = Vec::new();
        // What was not read when it closes makes the end a reset, as it is with Toxiproxy.
        let _ = client.read_to_end(&mut back).await;
        let expected: &[u8] = if stream == "upstream" { b"" } else { b"890" };
        assert!(back == b"890" || back == expected, "{stream}: {back:?}");
    }
}

#[tokio::test]
async fn what_a_toxic_holds_comes_when_it_is_removed_or_changed() {
    let path = "/proxies/p/toxics/latency_downstream";
    for change in ["remove", "update", "reset"] {
        let (desk, mut client) = with("latency", "downstream", json!({ "latency": AN_HOUR })).await;
        client.write_all(b"held").await.unwrap();
        // It has come back by now, as far as the toxic, or is not held for longer anyhow.
        match change {
            "remove" => desk.expect(204, "DELETE", path, Value::Null).await,
            "update" => {
                desk.expect(200, "POST", path, json!({ "attributes": { "latency": 0 } })).await
            }
            _ => desk.expect(204, "POST", "/reset", Value::Null).await,
        };
        let mut back = [0; 4];
        client.read_exact(&mut back).await.unwrap();
        assert_eq!(&back, b"held", "{change}");
        round(&mut client, b"at once").await;
    }
}

#[tokio::test]
async fn of_a_toxicity_of_zero_nothing_is_seen_until_it_is_raised() {
    let desk = Desk::new().await;
    let mut client = connect(desk.proxy("p", desk.echo()).await).await;
    let body = json!({ "type": "reset_peer", "toxicity": 0 });
    desk.expect(200, "POST", "/proxies/p/toxics", body).await;
    round(&mut client, b"nothing to see").await;
    let path = "/proxies/p/toxics/reset_peer_downstream";
    desk.expect(200, "POST", path, json!({ "toxicity": 1 })).await;
    client.write_all(b"lost").await.unwrap();
    client.read(&mut [0; 1]).await.unwrap_err();
}

#[tokio::test]
async fn a_proxy_that_is_disabled_has_no_port_and_no_connections() {
    let desk = Desk::new().await;
    let address = desk.proxy("p", desk.echo()).await;
    let mut client = connect(address).await;
    round(&mut client, b"before").await;
    desk.expect(200, "POST", "/proxies/p", json!({ "enabled": false })).await;
    assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0);
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    desk.expect(200, "POST", "/proxies/p", json!({ "enabled": true })).await;
    round(&mut connect(address).await, b"again").await;
    desk.expect(204, "DELETE", "/proxies/p", Value::Null).await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn without_a_server_behind_it_a_client_is_closed() {
    let desk = Desk::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let mut client = connect(desk.proxy("p", nobody).await).await;
    assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0);
}

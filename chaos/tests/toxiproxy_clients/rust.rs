//! The client in Rust, through the wrapper that makes up for what it does not do.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use stagefault_chaos::toxiproxy::client::{ClientError, NetworkFault, NetworkLine, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::desk::Desk;
use crate::{runtime, url};

const STREAMS: [Stream; 2] = [Stream::Upstream, Stream::Downstream];

pub fn trials() -> Vec<Trial> {
    let trial = |name, test: fn(&Desk)| {
        Trial::test(name, move || {
            let runtime = runtime();
            let desk = runtime.block_on(Desk::new());
            test(&desk);
            Ok(())
        })
    };
    vec![
        trial("rust::the_client_sees_every_toxic_that_it_has", |desk| {
            runtime().block_on(every_toxic(desk));
        }),
        trial("rust::what_is_refused_is_noticed_though_the_client_does_not", |desk| {
            runtime().block_on(refused(desk));
        }),
        trial("rust::a_toxiproxy_is_driven_on_this_machine_only", |desk| {
            runtime().block_on(remote(desk));
        }),
    ]
}

async fn open(desk: &Desk, name: &str) -> NetworkLine {
    let name = format!("stagefault-rust-{name}-{}", std::process::id());
    NetworkLine::open(&url(desk), &name, desk.echo()).await.unwrap()
}

/// Sends this and waits until it has come back, or the connection has ended; what has come,
/// and how long it took.
async fn round(client: &mut TcpStream, bytes: &[u8]) -> (Vec<u8>, Duration) {
    let started = Instant::now();
    let mut back = Vec::new();
    // That it ends early, or by a reset, is for the caller to judge by what came.
    if client.write_all(bytes).await.is_ok() {
        let _ = client.take(bytes.len() as u64).read_to_end(&mut back).await;
    }
    (back, started.elapsed())
}

async fn connect(address: SocketAddr) -> TcpStream {
    let mut client = TcpStream::connect(address).await.unwrap();
    assert_eq!(round(&mut client, b"before").await.0, b"before");
    client
}

async fn every_toxic(desk: &Desk) {
    let line = open(desk, "every").await;
    let slicer = NetworkFault::Slicer { average_size: 4, size_variation: 1, delay: 10_000 };
    let long = vec![7; 20_000];
    let short = b"in pieces of three to five bytes".to_vec();
    for stream in STREAMS {
        // What is sent, how much of it comes back, and after how many milliseconds at least.
        let cases = [
            (NetworkFault::Latency { latency: 120, jitter: 20 }, &short, short.len(), 99),
            (NetworkFault::Bandwidth { rate: 100 }, &long, long.len(), 190),
            (slicer, &short, short.len(), 60),
            (NetworkFault::Timeout { timeout: 100 }, &short, 0, 99),
            (NetworkFault::LimitData { bytes: 7 }, &short, 7, 0),
        ];
        for (fault, sent, most, least_time) in cases {
            let mut client = connect(line.address()).await;
            line.put(fault, stream).await.unwrap();
            let (back, took) = round(&mut client, sent).await;
            assert!(took >= Duration::from_millis(least_time), "{fault:?} {stream:?}: {took:?}");
            assert!(
                back.len() <= most && sent.starts_with(&back),
                "{fault:?} {stream:?}: {back:?}"
            );
            if most > 7 {
                assert_eq!(back.len(), most, "{fault:?} {stream:?}");
            }
            line.clear().await.unwrap();
        }
        let mut client = connect(line.address()).await;
        line.put(NetworkFault::SlowClose { delay: 100 }, stream).await.unwrap();
        let started = Instant::now();
        client.shutdown().await.unwrap();
        assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0);
        assert!(started.elapsed() >= Duration::from_millis(99), "{stream:?}");
        line.clear().await.unwrap();
    }
    let mut client = connect(line.address()).await;
    line.enable(false).await.unwrap();
    assert_eq!(round(&mut client, b"lost").await.0, b"");
    TcpStream::connect(line.address()).await.unwrap_err();
    line.enable(true).await.unwrap();
    connect(line.address()).await;
    let address = line.address();
    line.remove().await.unwrap();
    TcpStream::connect(address).await.unwrap_err();
}

async fn refused(desk: &Desk) {
    let line = open(desk, "refused").await;
    let fault = NetworkFault::Latency { latency: 1, jitter: 0 };
    line.put(fault, Stream::Upstream).await.unwrap();
    // One of that type and direction is there, so another is refused, which only a status tells.
    let other = NetworkFault::Latency { latency: 2, jitter: 0 };
    let refused = line.put(other, Stream::Upstream).await.unwrap_err();
    assert!(matches!(refused, ClientError::NotSet { .. }), "{refused}");
    line.remove().await.unwrap();
}

async fn remote(desk: &Desk) {
    let refused = NetworkLine::open("http://192.0.2.1:8474", "p", desk.echo()).await.unwrap_err();
    assert!(matches!(refused, ClientError::Remote(_)), "{refused}");
    let refused = NetworkLine::open("nowhere", "p", desk.echo()).await.unwrap_err();
    assert!(matches!(refused, ClientError::BadUrl(_)), "{refused}");
}

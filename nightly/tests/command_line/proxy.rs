//! `stagefault proxy`: it serves Toxiproxy's API until it is told to end.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Place, Running};

/// Somebody who sends back what each client sends, and where.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut from = &client;
                // A client that is cut off is what the proxy is for.
                let _ = std::io::copy(&mut from, &mut &client);
                let _ = client.shutdown(Shutdown::Write);
            });
        }
    });
    address
}

/// Asks, and gets a status and JSON or text.
fn ask(address: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), serde_json::from_str(body).unwrap_or_else(|_| body.into()))
}

/// Sends this and reads what comes back, to its end.
fn round(address: &str, text: &str) -> String {
    let mut client = TcpStream::connect(address).expect("it listens");
    client.write_all(text.as_bytes()).expect("it reads");
    client.shutdown(Shutdown::Write).expect("it is open");
    let mut back = String::new();
    client.read_to_string(&mut back).expect("text");
    back
}

fn start(place: &Place, arguments: &str) -> (Running, String) {
    let mut command = place.command(format!("proxy {arguments}").split_whitespace());
    let mut running = Running::start(command.stdout(Stdio::piped()));
    let line = running.line();
    let address = line.strip_prefix("listening on ").expect("where it listens").to_owned();
    (running, address)
}

#[test]
fn it_serves_until_a_signal_ends_it_and_closes_everything() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        let config = json!([{ "name": "echo", "listen": "localhost:0", "upstream": echo() }]);
        place.write("proxies.json", config.to_string());
        let (running, address) = start(&place, "--listen 127.0.0.1:0 --config proxies.json");
        let (status, proxy) = ask(&address, "GET", "/proxies/echo", "");
        assert_eq!((status, &proxy["enabled"]), (200, &json!(true)));
        let listen = proxy["listen"].as_str().expect("an address");
        assert_eq!(round(listen, "there and back"), "there and back");
        let toxic = json!({ "type": "limit_data", "attributes": { "bytes": 5 } }).to_string();
        assert_eq!(ask(&address, "POST", "/proxies/echo/toxics", &toxic).0, 200);
        assert_eq!(round(listen, "there and back"), "there");
        let held = TcpStream::connect(listen).expect("it listens");
        running.signal(signal);
        let ended = running.end().expect_status(0);
        assert_eq!(ended.stdout, "");
        assert_eq!((&held).read(&mut [0; 1]).unwrap_or(0), 0, "it is closed");
        for address in [address.as_str(), listen] {
            TcpStream::connect(address).expect_err("nobody listens any more");
        }
    }
}

#[test]
fn a_port_that_is_taken_is_one_clear_line() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let ended = place.stagefault(&format!("proxy --listen {address}"));
    ended.expect_error(3, &[&address, "in use", "--listen"]);
    let config = json!([{ "name": "p", "listen": address, "upstream": "localhost:1" }]);
    place.write("proxies.json", config.to_string());
    let ended = place.stagefault("proxy --listen 127.0.0.1:0 --config proxies.json");
    ended.expect_error(3, &[&address, "in use"]);
}

#[test]
fn it_is_open_to_this_machine_only() {
    let place = Place::new();
    place.stagefault("proxy --listen 0.0.0.0:0").expect_error(2, &["0.0.0.0", "127.0.0.1"]);
    let config = json!([{ "name": "p", "upstream": "192.0.2.1:5432" }]);
    place.write("proxies.json", config.to_string());
    let command = "proxy --listen localhost:0 --config proxies.json";
    place.stagefault(command).expect_error(2, &["proxies.json", "--allow-remote 192.0.2.1"]);
    let arguments = "--listen localhost:0 --config proxies.json --allow-remote 192.0.2.1";
    let (running, _) = start(&place, arguments);
    running.signal(Signal::TERM);
    running.end().expect_status(0);
}

#[test]
fn a_file_that_holds_no_proxies_is_named() {
    let place = Place::new();
    for content in ["", "{}", "[{}]", "[[]]", r#"[{"name": "p"}]"#] {
        place.write("proxies.json", content);
        let ended = place.stagefault("proxy --listen 127.0.0.1:0 --config proxies.json");
        ended.expect_error(2, &["proxies.json"]);
    }
    let ended = place.stagefault("proxy --listen 127.0.0.1:0 --config none.json");
    ended.expect_error(2, &["none.json", "No such file"]);
}

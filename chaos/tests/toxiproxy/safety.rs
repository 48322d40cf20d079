//! It is open to this machine only, leads to this machine only, and no web page asks it.

use serde_json::{Value, json};
use stagefault_chaos::toxiproxy::{Allowed, ServeError, ToxiproxyServer};

use crate::desk::{Desk, ask, server};

#[tokio::test]
async fn it_listens_on_this_machine_only() {
    for open in ["0.0.0.0:0", "[::]:0"] {
        let refused = ToxiproxyServer::bind(open.parse().unwrap(), Allowed::default()).await;
        assert!(matches!(refused, Err(ServeError::Open(_))), "{open}");
    }
    let desk = Desk::new().await;
    for open in ["0.0.0.0:0", "[::]:0", ":0"] {
        let body = json!({ "name": "p", "listen": open, "upstream": desk.echo() });
        let answer = desk.expect(400, "POST", "/proxies", body).await;
        assert!(answer["error"].as_str().unwrap().contains("127.0.0.1"), "{answer}");
    }
    let listen = desk.proxy("p", desk.echo()).await;
    desk.expect(400, "POST", "/proxies/p", json!({ "listen": "0.0.0.0:0" })).await;
    let shown = desk.expect(200, "GET", "/proxies/p", Value::Null).await;
    assert_eq!(shown["listen"], listen.to_string());
}

/// The address is one that is reserved for documents, and nothing connects to it here.
#[tokio::test]
async fn it_leads_to_this_machine_only_unless_a_host_is_allowed() {
    let body = json!({ "name": "p", "upstream": "192.0.2.1:5432" });
    let desk = Desk::new().await;
    let answer = desk.expect(400, "POST", "/proxies", body.clone()).await;
    assert!(answer["error"].as_str().unwrap().contains("--allow-remote 192.0.2.1"), "{answer}");
    let server = server(Allowed(vec!["192.0.2.1".to_owned()])).await;
    let address = server.address();
    let asked = async {
        let (status, answer) = ask(address, "POST", "/proxies", "", &body.to_string()).await;
        assert_eq!(status, 201, "{answer}");
    };
    server.serve(asked).await;
}

#[tokio::test]
async fn a_browser_is_refused() {
    let desk = Desk::new().await;
    let browser = "User-Agent: Mozilla/5.0 (X11)\r\n";
    let (status, _) = ask(desk.address(), "POST", "/reset", browser, "").await;
    assert_eq!(status, 403);
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let desk = Desk::new().await;
    let long = format!("{{\"name\": \"{}\"}}", "x".repeat(2 << 20));
    let (status, _) = ask(desk.address(), "POST", "/proxies", "", &long).await;
    assert_eq!(status, 413);
}

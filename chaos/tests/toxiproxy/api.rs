//! The routes, statuses and bodies are Toxiproxy's.

use serde_json::{Value, json};
use stagefault_chaos::toxiproxy::STANDARD_TYPES;

use crate::desk::Desk;

#[tokio::test]
async fn it_says_which_version_it_is() {
    let desk = Desk::new().await;
    let answer = desk.expect(200, "GET", "/version", Value::Null).await;
    assert!(answer["version"].as_str().unwrap().starts_with("2."), "{answer}");
}

#[tokio::test]
async fn a_proxy_is_made_shown_changed_and_deleted() {
    let desk = Desk::new().await;
    let echo = desk.echo().to_string();
    let body = json!({ "name": "db", "listen": "localhost:0", "upstream": echo });
    let made = desk.expect(201, "POST", "/proxies", body).await;
    let listen = made["listen"].as_str().unwrap().to_owned();
    assert!(listen.starts_with("127.0.0.1:") && !listen.ends_with(":0"), "{listen}");
    let expected = json!({
        "name": "db", "listen": listen, "upstream": echo, "enabled": true, "toxics": [],
    });
    assert_eq!(made, expected);
    assert_eq!(desk.expect(200, "GET", "/proxies/db", Value::Null).await, expected);
    let all = desk.expect(200, "GET", "/proxies", Value::Null).await;
    assert_eq!(all, json!({ "db": expected }));
    for (method, enabled) in [("POST", false), ("PATCH", true)] {
        let changed = desk.expect(200, method, "/proxies/db", json!({ "enabled": enabled })).await;
        assert_eq!(changed["enabled"], enabled);
        assert_eq!(changed["listen"], listen.as_str(), "it keeps its port");
    }
    desk.expect(204, "DELETE", "/proxies/db", Value::Null).await;
    desk.expect(404, "GET", "/proxies/db", Value::Null).await;
}

#[tokio::test]
async fn a_toxic_is_made_shown_changed_and_deleted() {
    let desk = Desk::new().await;
    desk.proxy("db", desk.echo()).await;
    let body = json!({ "type": "latency", "attributes": { "latency": 5 } });
    let made = desk.expect(200, "POST", "/proxies/db/toxics", body).await;
    let expected = json!({
        "name": "latency_downstream", "type": "latency", "stream": "downstream",
        "toxicity": 1.0, "attributes": { "latency": 5, "jitter": 0 },
    });
    assert_eq!(made, expected);
    let path = "/proxies/db/toxics/latency_downstream";
    assert_eq!(desk.expect(200, "GET", path, Value::Null).await, expected);
    for (method, jitter) in [("POST", 1), ("PATCH", 2)] {
        let body = json!({ "toxicity": 0.5, "attributes": { "jitter": jitter } });
        let changed = desk.expect(200, method, path, body).await;
        assert_eq!(changed["toxicity"], 0.5);
        assert_eq!(changed["attributes"], json!({ "latency": 5, "jitter": jitter }));
    }
    let named =
        json!({ "name": "mine", "type": "timeout", "stream": "upstream", "toxicity": 0.25 });
    desk.expect(200, "POST", "/proxies/db/toxics", named).await;
    let all = desk.expect(200, "GET", "/proxies/db/toxics", Value::Null).await;
    let names: Vec<&str> =
        all.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mine", "latency_downstream"], "the client's direction first");
    let shown = desk.expect(200, "GET", "/proxies/db", Value::Null).await;
    assert_eq!(shown["toxics"], all);
    desk.expect(204, "DELETE", "/proxies/db/toxics/mine", Value::Null).await;
    desk.expect(404, "GET", "/proxies/db/toxics/mine", Value::Null).await;
}

#[tokio::test]
async fn every_type_has_its_attributes_and_their_defaults() {
    let desk = Desk::new().await;
    desk.proxy("db", desk.echo()).await;
    let defaults = [
        json!({ "latency": 0, "jitter": 0 }),
        json!({ "rate": 0 }),
        json!({ "delay": 0 }),
        json!({ "timeout": 0 }),
        json!({ "timeout": 0 }),
        json!({ "average_size": 1, "size_variation": 0, "delay": 0 }),
        json!({ "bytes": 0 }),
    ];
    for (kind, defaults) in STANDARD_TYPES.into_iter().zip(defaults) {
        // The one attribute that must be given, for nothing can be cut into pieces of 0 bytes.
        let attributes = if kind == "slicer" { json!({ "average_size": 1 }) } else { json!({}) };
        let body = json!({ "type": kind, "attributes": attributes });
        let made = desk.expect(200, "POST", "/proxies/db/toxics", body).await;
        assert_eq!(made["attributes"], defaults, "{kind}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_said_with_its_status() {
    let desk = Desk::new().await;
    let listen = desk.proxy("db", desk.echo()).await;
    desk.toxic("db", "latency", "upstream", json!({})).await;
    let there = json!({ "name": "db", "listen": "127.0.0.1:0", "upstream": desk.echo() });
    let taken = json!({ "name": "other", "listen": listen, "upstream": desk.echo() });
    let toxics = "/proxies/db/toxics";
    let one = "/proxies/db/toxics/latency_upstream";
    for (status, method, path, body, error) in [
        (404, "GET", "/proxies/no", json!(null), "proxy not found"),
        (404, "POST", "/proxies/no", json!({}), "proxy not found"),
        (404, "DELETE", "/proxies/no", json!(null), "proxy not found"),
        (404, "GET", "/proxies/no/toxics", json!(null), "proxy not found"),
        (404, "GET", "/proxies/db/toxics/no", json!(null), "toxic not found"),
        (404, "POST", "/proxies/db/toxics/no", json!({}), "toxic not found"),
        (404, "DELETE", "/proxies/db/toxics/no", json!(null), "toxic not found"),
        (409, "POST", "/proxies", there, "proxy already exists"),
        (
            409,
            "POST",
            toxics,
            json!({ "type": "latency", "stream": "upstream" }),
            "toxic already exists",
        ),
        (
            400,
            "POST",
            "/proxies",
            json!({ "upstream": "localhost:1" }),
            "missing required field: name",
        ),
        (400, "POST", "/proxies", json!({ "name": "a" }), "missing required field: upstream"),
        (400, "POST", "/proxies", json!({ "name": 1 }), "bad request body: "),
        (400, "POST", "/proxies", json!(null), "bad request body: "),
        (
            400,
            "POST",
            "/proxies",
            json!({ "name": "a", "upstream": "nowhere" }),
            "bad request body: ",
        ),
        (400, "POST", "/proxies/db", json!([]), "bad request body: "),
        (400, "POST", toxics, json!({ "type": "no" }), "invalid toxic type"),
        (
            400,
            "POST",
            toxics,
            json!({ "type": "latency", "stream": "no" }),
            "stream was invalid, can be either upstream or downstream",
        ),
        (
            400,
            "POST",
            toxics,
            json!({ "type": "latency", "attributes": { "latency": "1" } }),
            "bad request body: ",
        ),
        (
            400,
            "POST",
            toxics,
            json!({ "type": "latency", "attributes": { "latency": -1 } }),
            "bad request body: ",
        ),
        (400, "POST", toxics, json!({ "type": "slicer" }), "bad request body: "),
        (400, "POST", one, json!({ "attributes": { "jitter": 0.5 } }), "bad request body: "),
        (
            400,
            "POST",
            "/populate",
            json!([{ "name": "a" }]),
            "missing required field: upstream at proxy 1",
        ),
        (500, "POST", "/proxies", taken, "listen tcp 127.0.0.1:"),
    ] {
        let answer = desk.expect(status, method, path, body.clone()).await;
        let said = answer["error"].as_str().unwrap_or_else(|| panic!("{path} {body}: {answer}"));
        assert!(said.starts_with(error), "{path} {body}: {said}");
        assert_eq!(answer["status"], status, "{path} {body}");
    }
    let all = desk.expect(200, "GET", "/proxies", Value::Null).await;
    assert_eq!(all.as_object().unwrap().len(), 1, "what failed has left nothing");
    desk.expect(404, "GET", "/no", Value::Null).await;
    desk.expect(405, "GET", "/reset", Value::Null).await;
}

#[tokio::test]
async fn populating_makes_proxies_and_keeps_those_that_are_as_they_should_be() {
    let desk = Desk::new().await;
    let listen = desk.proxy("kept", desk.echo()).await;
    desk.toxic("kept", "latency", "upstream", json!({ "latency": 1 })).await;
    let body = json!([
        { "name": "kept", "listen": listen, "upstream": desk.echo() },
        { "name": "new", "listen": "127.0.0.1:0", "upstream": desk.echo(), "enabled": false },
    ]);
    let answer = desk.expect(201, "POST", "/populate", body).await;
    assert_eq!(answer["proxies"][0]["toxics"][0]["name"], "latency_upstream");
    assert_eq!(answer["proxies"][1]["enabled"], false);
    let body = json!([{ "name": "kept", "listen": listen, "upstream": "127.0.0.1:1" }]);
    let answer = desk.expect(201, "POST", "/populate", body).await;
    assert_eq!(answer["proxies"][0]["toxics"], json!([]), "it is another one");
    let all = desk.expect(200, "GET", "/proxies", Value::Null).await;
    assert_eq!(all.as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn a_reset_enables_every_proxy_and_removes_every_toxic() {
    let desk = Desk::new().await;
    desk.proxy("a", desk.echo()).await;
    desk.toxic("a", "latency", "upstream", json!({ "latency": 1 })).await;
    desk.expect(200, "POST", "/proxies/a", json!({ "enabled": false })).await;
    desk.expect(204, "POST", "/reset", Value::Null).await;
    let shown = desk.expect(200, "GET", "/proxies/a", Value::Null).await;
    assert_eq!((&shown["enabled"], &shown["toxics"]), (&json!(true), &json!([])));
}

//! What a request does, and what is answered: the routes, statuses and bodies of Toxiproxy.

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::collection::Collection;
use super::error::{ApiError, read_object, read_objects};

/// The version of Toxiproxy whose API this is.
const VERSION: &str = "2.12.0";

/// A request, without what it makes no difference to.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path, its parts decoded.
    pub(super) path: Vec<String>,
    pub(super) body: Vec<u8>,
}

/// An answer.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Body,
}

/// What an answer says.
#[derive(Debug, PartialEq)]
pub(super) enum Body {
    Nothing,
    Json(Value),
    Text(&'static str),
}

/// Does what is asked.
pub(super) async fn answer(collection: &Mutex<Collection>, request: &Request) -> Answer {
    let done = perform(collection, request).await;
    done.unwrap_or_else(|error| {
        let status = error.status;
        Answer { status, body: Body::Json(json!(error)) }
    })
}

async fn perform(collection: &Mutex<Collection>, request: &Request) -> Result<Answer, ApiError> {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let body = &request.body[..];
    let mut proxies = collection.lock().await;
    Ok(match (request.method.as_str(), &path[..]) {
        ("GET", ["version"]) => ok(json!({ "version": VERSION })),
        ("POST", ["reset"]) => {
            proxies.reset().await?;
            nothing()
        }
        ("GET", ["proxies"]) => ok(proxies.show_all()),
        ("POST", ["proxies"]) => created(proxies.create(read_object(body)?).await?),
        ("POST", ["populate"]) => populate(&mut proxies, body).await,
        ("GET", ["proxies", name]) => ok(proxies.show(name)?),
        ("POST" | "PATCH", ["proxies", name]) => {
            // That it is not there is said before what is wrong with the request.
            proxies.show(name)?;
            ok(proxies.update(name, read_object(body)?).await?)
        }
        ("DELETE", ["proxies", name]) => {
            proxies.remove(name).await?;
            nothing()
        }
        ("GET", ["proxies", name, "toxics"]) => ok(proxies.toxics(name)?.all().into()),
        ("POST", ["proxies", name, "toxics"]) => ok(proxies.toxics(name)?.add(body)?),
        ("GET", ["proxies", name, "toxics", toxic]) => ok(proxies.toxics(name)?.get(toxic)?),
        ("POST" | "PATCH", ["proxies", name, "toxics", toxic]) => {
            ok(proxies.toxics(name)?.update(toxic, body)?)
        }
        ("DELETE", ["proxies", name, "toxics", toxic]) => {
            proxies.toxics(name)?.remove(toxic)?;
            nothing()
        }
        (_, path) if is_route(path) => Answer { status: 405, body: Body::Nothing },
        _ => Answer { status: 404, body: Body::Text("404 page not found\n") },
    })
}

/// Whether there is something of this path, by another method.
fn is_route(path: &[&str]) -> bool {
    matches!(
        path,
        ["version" | "reset" | "populate" | "proxies"]
            | ["proxies", _]
            | ["proxies", _, "toxics"]
            | ["proxies", _, "toxics", _]
    )
}

/// Unlike others, this tells what there is besides the error.
async fn populate(proxies: &mut Collection, body: &[u8]) -> Answer {
    let populated = match read_objects(body) {
        Ok(written) => proxies.populate(written).await,
        Err(error) => Err(error),
    };
    match populated {
        Ok(shown) => created(json!({ "proxies": shown })),
        Err(ApiError { error, status }) => {
            let said = json!({ "error": error, "status": status, "proxies": null });
            Answer { status, body: Body::Json(said) }
        }
    }
}

fn ok(value: Value) -> Answer {
    Answer { status: 200, body: Body::Json(value) }
}

fn created(value: Value) -> Answer {
    Answer { status: 201, body: Body::Json(value) }
}

fn nothing() -> Answer {
    Answer { status: 204, body: Body::Nothing }
}

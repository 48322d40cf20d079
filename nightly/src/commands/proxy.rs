//! `stagefault proxy`: the fault proxy for stores in any language, by Toxiproxy's HTTP API.

use std::fs;
use std::path::Path;

use stagefault_chaos::toxiproxy::{Allowed, ServeError, ToxiproxyServer};

use crate::cli::ProxyArguments;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::signals::Signals;
use crate::{print, refused};

/// Serves until a signal comes, which is its orderly end.
///
/// # Errors
/// That it cannot listen, or the file holds no proxies.
pub fn proxy(arguments: &ProxyArguments) -> Result<Exit, CommandError> {
    let signals = Signals::install().map_err(refused("wait for signals"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(refused("start a runtime"))?;
    runtime.block_on(async {
        let allowed = Allowed(arguments.allow_remote.clone());
        let server = ToxiproxyServer::bind(arguments.listen, allowed).await?;
        if let Some(path) = &arguments.config {
            populate(&server, path).await?;
        }
        print::result(format_args!("listening on {}", server.address()))?;
        server
            .serve(async {
                signals.first().await;
            })
            .await;
        Ok(Exit::Held)
    })
}

async fn populate(server: &ToxiproxyServer, path: &Path) -> Result<(), CommandError> {
    let unusable = |reason: String| CommandError::BadFile { path: path.to_owned(), reason };
    let configuration = fs::read(path).map_err(|error| unusable(error.to_string()))?;
    server.populate(&configuration).await.map_err(|error| match error {
        ServeError::NoProxies(reason) => unusable(reason),
        other => CommandError::Serve(other),
    })
}

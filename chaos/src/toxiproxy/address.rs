//! Addresses: everything is on this machine, unless a host is allowed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::error::ApiError;

/// The hosts that proxies may lead to although they are other machines.
#[derive(Clone, Debug, Default)]
pub struct Allowed(pub Vec<String>);

/// Where a proxy is to listen. Only this machine is taken, and no host is the same as it.
pub(super) async fn listen(written: &str) -> Result<SocketAddr, ApiError> {
    if written.is_empty() {
        return Ok((Ipv4Addr::LOCALHOST, 0).into());
    }
    let found =
        resolve(written).await.map_err(|error| not_an_address("listen", written, &error))?;
    // A name such as localhost may have several addresses; the first is taken, as by Toxiproxy,
    // but IPv4 before IPv6, which a container may not have.
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    match first {
        Some(address) if found.iter().all(is_here) => Ok(*address),
        _ => Err(ApiError::not_here(format!(
            "listen {written} is open to other machines; use 127.0.0.1 or localhost"
        ))),
    }
}

/// Where a proxy leads to, now. It may be another machine only if that is allowed.
pub(super) async fn upstream(
    written: &str,
    allowed: &Allowed,
) -> Result<Vec<SocketAddr>, ApiError> {
    let found =
        resolve(written).await.map_err(|error| not_an_address("upstream", written, &error))?;
    let host = written.rsplit_once(':').map_or(written, |(host, _)| host);
    if !found.is_empty() && (found.iter().all(is_here) || allowed.0.iter().any(|it| it == host)) {
        return Ok(found);
    }
    Err(ApiError::not_here(format!(
        "upstream {host} is not this machine, and so may be somebody's; if it is meant, start \
         with --allow-remote {host}"
    )))
}

/// Whether only this machine can reach it.
pub(super) fn is_here(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
    }
}

async fn resolve(written: &str) -> io::Result<Vec<SocketAddr>> {
    // ":2001" is all addresses of this machine, which is said like any other that is open.
    let written =
        if written.starts_with(':') { format!("0.0.0.0{written}") } else { written.to_owned() };
    Ok(tokio::net::lookup_host(written).await?.collect())
}

fn not_an_address(field: &str, written: &str, error: &io::Error) -> ApiError {
    ApiError::bad_request(format_args!("{field} {written}: {error}"))
}

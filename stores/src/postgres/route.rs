//! Another way for a handle to reach its server, for whoever torments its connection.

use std::net::Ipv4Addr;

use sqlx::postgres::PgConnectOptions;

/// How a handle connects, where not as its backend does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// A port of 127.0.0.1 that leads to the server. Of no use where the backend connects by
    /// a Unix socket.
    pub port: Option<u16>,
}

impl Route {
    pub(super) fn applied_to(&self, options: PgConnectOptions) -> PgConnectOptions {
        match self.port {
            Some(port) => options.host(&Ipv4Addr::LOCALHOST.to_string()).port(port),
            None => options,
        }
    }
}

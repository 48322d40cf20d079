//! Which server to work on, and as whom: only this machine's, unless another one is allowed.

use std::fmt;
use std::net::IpAddr;

use sqlx::postgres::PgConnectOptions;
use stagefault_models::BackendError;

/// How to reach a server, and which hosts it may be on.
///
/// A server on this machine, reached by a loopback address or a Unix socket, is always
/// allowed; any other host only after [`allow_host`](Self::allow_host) with its name. Neither
/// its debug output nor any error shows the password.
#[derive(Clone)]
pub struct PostgresOptions {
    connect: PgConnectOptions,
    allowed: Vec<String>,
    isolation: &'static str,
}

/// What all reasoning about concurrency in the store is for.
const ISOLATION: &str = "read committed";

impl PostgresOptions {
    /// From a URL such as `postgres://user:password@localhost:5432/database`. For what it
    /// does not say, libpq's environment variables and `.pgpass` are asked.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] when it cannot be understood; the URL is not quoted.
    pub fn from_url(url: &str) -> Result<Self, BackendError> {
        let failed = |reason: String| BackendError::Unreachable {
            location: "the server of the PostgreSQL URL".to_owned(),
            reason,
        };
        if !matches!(url.split_once("://"), Some(("postgres" | "postgresql", _))) {
            return Err(failed("a URL begins with postgres:// or postgresql://".to_owned()));
        }
        let connect: PgConnectOptions =
            url.parse().map_err(|error: sqlx::Error| failed(error.to_string()))?;
        Ok(PostgresOptions::new(connect))
    }

    /// From options of sqlx.
    pub fn new(connect: PgConnectOptions) -> Self {
        // A URL has an IPv6 address in brackets, which the system's resolver does not know.
        let address = connect.get_host().strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let connect = match address.map(str::to_owned) {
            Some(address) => connect.host(&address),
            None => connect,
        };
        PostgresOptions { connect, allowed: Vec::new(), isolation: ISOLATION }
    }

    /// Allows a host that is not this machine, by the name or address under which it is given.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        self.allowed.push(host.to_owned());
        self
    }

    /// Has the store work at SERIALIZABLE, where the server may fail what it could not put in
    /// an order: for who wants to see such failures. Without this it works at READ COMMITTED,
    /// whatever the server's default is, and no operation fails for such a reason.
    #[must_use]
    pub fn serializable(self) -> Self {
        PostgresOptions { isolation: "serializable", ..self }
    }

    /// The isolation of the store's transactions.
    pub(super) fn isolation(&self) -> &'static str {
        self.isolation
    }

    /// The host, if it is another machine that is not allowed.
    pub fn forbidden_host(&self) -> Option<&str> {
        let host = self.connect.get_host();
        let allowed = self.connect.get_socket().is_some()
            || is_this_machine(host)
            || self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
        (!allowed).then_some(host)
    }

    /// Whether the server is reached by a Unix socket, and not by a port.
    pub fn is_by_socket(&self) -> bool {
        self.connect.get_socket().is_some() || self.connect.get_host().starts_with('/')
    }

    /// The options of sqlx, if the host is allowed.
    pub(super) fn allowed(&self) -> Result<&PgConnectOptions, BackendError> {
        let Some(host) = self.forbidden_host() else { return Ok(&self.connect) };
        let reason = format!("{host} is not this machine; it must be allowed by that name");
        Err(BackendError::Unreachable { location: self.location(), reason })
    }

    /// The database that is named, if one is.
    pub(super) fn database(&self) -> Option<&str> {
        self.connect.get_database()
    }

    /// The same server, in this database.
    pub(super) fn in_database(&self, name: &str) -> Self {
        PostgresOptions { connect: self.connect.clone().database(name), ..self.clone() }
    }

    /// The server, the user, and the database if one is named, without the password.
    pub(super) fn location(&self) -> String {
        let connect = &self.connect;
        let host = match connect.get_socket() {
            Some(folder) => folder.display().to_string(),
            None => connect.get_host().to_owned(),
        };
        let (user, port) = (connect.get_username(), connect.get_port());
        let database = connect.get_database().map(|name| format!("/{name}")).unwrap_or_default();
        format!("{user}@{host}:{port}{database}")
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresOptions")
            .field("location", &self.location())
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

/// Whether connections to the host stay on this machine. (A path is a Unix socket's.)
fn is_this_machine(host: &str) -> bool {
    host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> PostgresOptions {
        PostgresOptions::from_url(url).expect("a URL")
    }

    #[test]
    fn this_machine_is_allowed_and_another_only_by_its_name() {
        let here = [
            "postgres://u@localhost/d",
            "postgres://u@LOCALHOST:1/d",
            "postgresql://u@127.0.0.1/d",
            "postgres://u@127.8.9.1/d",
            "postgres://u@[::1]/d",
            "postgres://u@%2Ftmp%2Fsocket/d",
            "postgres://u@ignored/d?host=/tmp/socket",
        ];
        for url in here {
            assert!(options(url).allowed().is_ok(), "{url}");
        }
        let elsewhere = [
            "postgres://u@db.example/d",
            "postgres://u@localhost.example/d",
            "postgres://u@10.0.0.1/d",
            "postgres://u@0.0.0.0/d",
            "postgres://u@[::2]/d",
            "postgres://u@localhost/d?host=db.example",
            "postgres://u@localhost/d?hostaddr=10.0.0.1",
        ];
        for url in elsewhere {
            assert!(options(url).allow_host("other.example").allowed().is_err(), "{url}");
        }
        assert!(options("postgres://u@db.example/d").allow_host("DB.example").allowed().is_ok());
        assert!(options("postgres://u@[::2]/d").allow_host("::2").allowed().is_ok());
    }

    #[test]
    fn the_password_is_not_shown() {
        let options = options("postgres://user:hush@db.example:7/d");
        let error = options.allowed().expect_err("another machine");
        for shown in [format!("{options:?}"), format!("{error:?}"), error.to_string()] {
            assert!(shown.contains("user@db.example:7/d") && !shown.contains("hush"), "{shown}");
        }
        for url in ["hush", "sqlite://hush", "postgres://u:hush@h:port/d", "postgres://u:hush@["] {
            let error = PostgresOptions::from_url(url).expect_err("no URL");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hush") && error.to_string().lines().count() == 1, "{shown}");
        }
    }
}

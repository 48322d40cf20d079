//! What can be chosen when a throw-away server is started, and the settings that follow.

use std::path::PathBuf;

/// How a [`PostgresServer`](super::PostgresServer) is started.
///
/// The default is the fastest: a Unix socket, the folder for temporary files, no syncing.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where clients reach it.
    pub listen: Listen,
    /// What an acknowledged commit is worth.
    pub durability: Durability,
    /// The folder in which the server's own folder is made; without it, the one for temporary
    /// files. The user that the server runs as must be able to write there.
    pub parent: Option<PathBuf>,
    /// The folder of `initdb`, `postgres` and `pg_ctl`; without it, they are looked for.
    pub binaries: Option<PathBuf>,
    /// Further settings by name and value, as in `postgresql.conf`. They win over all others,
    /// but for where the server listens and where it keeps shared memory.
    pub settings: Vec<(String, String)>,
}

/// Where clients reach the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket in the server's own folder: no port that another process could take.
    #[default]
    Socket,
    /// A free port of 127.0.0.1, for a proxy to stand in front of, and the socket too.
    Loopback,
}

/// What an acknowledged commit is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Nothing is synced, and a kill may lose what was acknowledged. For where only
    /// behaviour is under test.
    #[default]
    Relaxed,
    /// What was acknowledged is there after a kill of the server, though not after a loss of
    /// power: commits reach the system's cache, and nothing waits for the disk. A server that
    /// was killed comes again in a twentieth of the time that it takes with `Full`, which
    /// syncs every file of the data first.
    SurvivesKill,
    /// PostgreSQL's defaults: what was acknowledged is on the disk.
    Full,
}

impl Options {
    /// The server's settings; the last of a name wins.
    pub(super) fn effective_settings(&self) -> Vec<(String, String)> {
        // Lanes provoke errors by the thousand, with bodies of up to 1 MiB: without these two
        // the log outgrows the data. Clients are still told of every error.
        let log = [("log_min_messages", "log"), ("log_min_error_statement", "panic")];
        let durability: &[_] = match self.durability {
            Durability::Relaxed => {
                &[("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")]
            }
            // Page images stay: a kill can come between the two halves of a page.
            Durability::SurvivesKill => &[("fsync", "off")],
            Durability::Full => &[],
        };
        let listen = match self.listen {
            Listen::Socket => "",
            Listen::Loopback => "127.0.0.1",
        };
        // Shared memory in the data folder is removed with it; in /dev/shm a kill would leave it.
        let kept = [("listen_addresses", listen), ("dynamic_shared_memory_type", "mmap")];
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let chosen = log.iter().chain(durability).map(owned).chain(self.settings.iter().cloned());
        chosen.chain(kept.iter().map(owned)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_durability_touches_nothing_that_syncs() {
        let options = Options { durability: Durability::Full, ..Options::default() };
        let names: Vec<_> =
            options.effective_settings().into_iter().map(|(name, _)| name).collect();
        for syncing in ["fsync", "synchronous_commit", "full_page_writes"] {
            assert!(!names.iter().any(|name| name == syncing), "{names:?}");
        }
    }

    #[test]
    fn the_callers_settings_win_but_for_those_that_keep_it_to_itself() {
        let own = [("fsync", "on"), ("listen_addresses", "*")];
        let settings = own.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
        let options = Options { settings, ..Options::default() };
        let winner = |wanted: &str| {
            let settings = options.effective_settings().into_iter().rev();
            settings.filter(|(name, _)| name == wanted).map(|(_, value)| value).next()
        };
        assert_eq!(winner("fsync").as_deref(), Some("on"));
        assert_eq!(winner("listen_addresses").as_deref(), Some(""));
    }
}

//! The user that the server runs as.
//!
//! PostgreSQL refuses to run as root. Started by root, as in most containers, it runs as an
//! unprivileged user of the machine; started by anybody else, as that user.

use std::fs;

use super::ServerError;

/// Who may stand in for root, the best first: `postgres` comes with the packages of the
/// server, `nobody` with every system.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// An unprivileged user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: &'static str,
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Account {
    /// The user to change to; none where we are not root, and so stay who we are.
    pub(super) fn for_server() -> Result<Option<Self>, ServerError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::choose(&users).map(Some).ok_or(ServerError::NoUnprivilegedUser)
    }

    fn choose(users: &str) -> Option<Self> {
        CANDIDATES.iter().find_map(|name| users.lines().find_map(|line| Self::parse(line, name)))
    }

    /// Reads a line `name:password:user:group:…`.
    fn parse(line: &str, wanted: &'static str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        (name == wanted && user != 0).then_some(Account { name: wanted, user, group })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "root:x:0:0:root:/root:/bin/bash\n";
    const NOBODY: &str = "nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin\n";
    const POSTGRES: &str = "postgres:x:101:103::/var/lib/postgresql:/bin/bash\n";

    #[test]
    fn postgres_is_taken_before_nobody() {
        let users = [ROOT, NOBODY, POSTGRES].concat();
        assert_eq!(
            Account::choose(&users),
            Some(Account { name: "postgres", user: 101, group: 103 })
        );
    }

    #[test]
    fn nobody_stands_in_where_there_is_no_postgres() {
        let users = [ROOT, "+::::::\n", NOBODY].concat();
        assert_eq!(
            Account::choose(&users),
            Some(Account { name: "nobody", user: 65534, group: 65533 })
        );
    }

    #[test]
    fn a_user_that_is_root_by_another_name_is_not_taken() {
        assert_eq!(Account::choose("postgres:x:0:0::/:/bin/sh\n"), None);
    }
}

//! Where a server lives and is reached: its folder, its socket and its port.

use std::ffi::OsStr;
use std::fmt::Write;
use std::iter;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::ServerError;

/// Where free ports are looked for: below those that systems give to outgoing connections,
/// so that none of them takes the port of a server that was killed and is to come again.
const PORTS: Range<u16> = 16_384..32_768;

/// The shortest limit of a socket's path that a system has (macOS: 104 with the final NUL).
const LONGEST_SOCKET: usize = 103;
const LONGEST_SOCKET_NAME: usize = "/.s.PGSQL.65535".len();

/// A name for a server's own folder, which the guardian makes: it is the one to remove it.
pub(super) fn new_folder(parent: Option<&Path>) -> Result<PathBuf, ServerError> {
    let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
    let parent = std::path::absolute(&parent).unwrap_or(parent);
    let folder = parent.join(format!("stagefault-postgres-{:016x}", rand::random::<u64>()));
    let socket = folder.as_os_str().len() + LONGEST_SOCKET_NAME;
    if socket > LONGEST_SOCKET {
        let excess = socket - LONGEST_SOCKET;
        let longest_parent = parent.as_os_str().len().saturating_sub(excess);
        return Err(ServerError::PathTooLong { folder, longest_parent });
    }
    Ok(folder)
}

/// A port of 127.0.0.1 that is free now; another process may take it before the server does.
pub(super) fn free_port() -> u16 {
    let ports = iter::repeat_with(|| rand::random_range(PORTS)).take(1000);
    let mut free = ports.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    // Where none of a thousand is free, the server itself will say that it is not.
    free.next().unwrap_or(PORTS.start)
}

/// A path as the host of a URL, which is how libpq and sqlx take the folder of a socket.
pub(super) fn as_host(folder: &OsStr) -> String {
    let mut host = String::new();
    for byte in folder.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            host.push(char::from(*byte));
        } else {
            let _ = write!(host, "%{byte:02X}");
        }
    }
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_encoded_to_the_last_unusual_byte() {
        assert_eq!(as_host(OsStr::new("/tmp/a b_é")), "%2Ftmp%2Fa%20b_%C3%A9");
    }

    #[test]
    fn a_parent_of_the_longest_length_is_taken_and_one_byte_more_is_not() {
        let Err(ServerError::PathTooLong { longest_parent, .. }) =
            new_folder(Some(Path::new(&format!("/{}", "long".repeat(30)))))
        else {
            panic!("a path of over 120 bytes was taken");
        };
        let parent = |length: usize| format!("/{}", "x".repeat(length - 1));
        assert!(new_folder(Some(Path::new(&parent(longest_parent)))).is_ok());
        assert!(new_folder(Some(Path::new(&parent(longest_parent + 1)))).is_err());
    }
}

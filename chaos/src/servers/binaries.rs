//! Finds the programs of the PostgreSQL server on this machine.
//!
//! PATH comes first, then what `pg_config` says, then the folders that distributions use,
//! newest version first: Debian, for one, puts only the client programs on PATH.

use std::cmp::Reverse;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ServerError;

/// What must stand together in a folder. `pg_ctl` is not run: it is there as a sign of a
/// whole server, where a lone `initdb` or `postgres` is somebody's wrapper.
const PROGRAMS: [&str; 3] = ["initdb", "postgres", "pg_ctl"];

/// Where distributions and installers put the server; the star is the version.
const USUAL_FOLDERS: [&str; 10] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/lib/postgresql*/bin",
    "/usr/libexec/postgresql*",
    "/usr/lib64/postgresql-*/bin",
    "/usr/local/pgsql*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Library/PostgreSQL/*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
];

/// The two programs that a throw-away server needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binaries {
    pub(super) initdb: PathBuf,
    pub(super) postgres: PathBuf,
}

impl Binaries {
    /// Finds them in `folder`, or if none is given, on this machine.
    pub(super) fn find(folder: Option<&Path>) -> Result<Self, ServerError> {
        if let Some(folder) = folder {
            return Self::first_of([folder.to_owned()])
                .ok_or_else(|| ServerError::BinariesNotFound { searched: name(folder) });
        }
        Self::first_of(on_path())
            .or_else(|| Self::first_of(from_pg_config()))
            .or_else(|| Self::first_of(USUAL_FOLDERS.into_iter().flat_map(newest_first)))
            .ok_or_else(|| ServerError::BinariesNotFound { searched: everywhere() })
    }

    fn first_of(folders: impl IntoIterator<Item = PathBuf>) -> Option<Self> {
        let folder = folders.into_iter().find_map(|folder| whole(&folder))?;
        Some(Binaries { initdb: folder.join("initdb"), postgres: folder.join("postgres") })
    }
}

/// The folder, if a whole server stands in it: the one that its links lead to, for a program
/// finds its libraries and its fellows beside itself.
fn whole(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok().filter(|folder| has_all(folder))?;
    let linked = fs::canonicalize(folder.join("postgres")).ok()?;
    Some(linked.parent().filter(|linked| has_all(linked)).map_or(folder, Path::to_owned))
}

fn has_all(folder: &Path) -> bool {
    PROGRAMS.iter().all(|program| is_executable(&folder.join(program)))
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn on_path() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

fn from_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(folder.trim_end()))
}

/// The folders that fit a pattern with one star, the highest version first.
fn newest_first(pattern: &str) -> Vec<PathBuf> {
    let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort_by_cached_key(|name| Reverse(version(name)));
    names.iter().map(|name| PathBuf::from(format!("{parent}/{name}{after}"))).collect()
}

/// The numbers in a name, in order: `postgresql-9.6` is 9, 6, and so older than 10.
fn version(name: &str) -> Vec<u32> {
    name.split(|character: char| !character.is_ascii_digit()).flat_map(str::parse).collect()
}

fn name(folder: &Path) -> String {
    folder.display().to_string()
}

fn everywhere() -> String {
    let mut places: Vec<_> = on_path().iter().map(|folder| name(folder)).collect();
    places.push("the folder that pg_config names".to_owned());
    places.extend(USUAL_FOLDERS.map(str::to_owned));
    places.join(", ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn install(folder: &Path, programs: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        for program in programs {
            let file = folder.join(program);
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn a_lone_wrapper_is_passed_over() {
        let machine = tempfile::tempdir().unwrap();
        let [wrapper, server] = ["wrapper", "server"].map(|name| machine.path().join(name));
        install(&wrapper, &["initdb", "postgres"]);
        install(&server, &PROGRAMS);
        let found = Binaries::first_of([wrapper, server.clone()]).unwrap();
        assert_eq!(found.initdb, fs::canonicalize(server).unwrap().join("initdb"));
    }

    #[test]
    fn links_are_followed_to_the_whole_server() {
        let machine = tempfile::tempdir().unwrap();
        let [links, server] = ["links", "server"].map(|name| machine.path().join(name));
        install(&server, &PROGRAMS);
        fs::create_dir(&links).unwrap();
        for program in PROGRAMS {
            symlink(server.join(program), links.join(program)).unwrap();
        }
        let found = Binaries::first_of([links]).unwrap();
        assert_eq!(found.postgres, fs::canonicalize(server).unwrap().join("postgres"));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let machine = tempfile::tempdir().unwrap();
        for version in ["9.6", "15", "16"] {
            install(&machine.path().join(format!("pgsql-{version}/bin")), &[]);
        }
        let pattern = format!("{}/pgsql-*/bin", machine.path().display());
        let wanted = ["16", "15", "9.6"].map(|version| pattern.replace('*', version));
        assert_eq!(newest_first(&pattern), wanted.map(PathBuf::from));
    }

    #[test]
    fn where_there_is_none_the_error_says_where_it_was_looked_for_and_what_to_do() {
        let machine = tempfile::tempdir().unwrap();
        let error = Binaries::find(Some(machine.path())).unwrap_err().to_string();
        assert!(error.contains(&name(machine.path())), "{error}");
        assert!(error.contains("apt-get install postgresql"), "{error}");
        assert!(everywhere().contains("/usr/lib/postgresql/*/bin"));
    }
}

//! `--url`: on somebody's running server, in a database of stagefault's own, or not at all.
//!
//! That nothing else was touched is shown by a dump of the whole server, before and after.

use std::process::Command;

use rustix::process::Signal;
use stagefault_chaos::servers::{Listen, Options, PostgresServer};
use stagefault_stores::postgres::{PostgresDatabase, PostgresOptions};

use crate::support::{Ended, Place, ended};

/// Somebody's server, with a database that stagefault did not make.
struct Server {
    server: PostgresServer,
    place: Place,
}

impl Server {
    fn start() -> Self {
        let options = Options { listen: Listen::Loopback, ..Options::default() };
        let server = PostgresServer::start(options).expect("a server");
        let server = Server { server, place: Place::new() };
        server.sql("postgres", "CREATE DATABASE app");
        server.sql("app", "CREATE TABLE t AS SELECT 1 AS one");
        server
    }

    fn password(&self) -> String {
        let url = self.server.url();
        let (_, rest) = url.split_once("stagefault:").expect("a user");
        rest.split_once('@').expect("a password").0.to_owned()
    }

    /// The server's URL with this user, and this database if one is named.
    fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.server.port())
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("PGPASSWORD", self.password()).env("PGUSER", "stagefault");
        command.env("PGHOST", self.server.socket_dir());
        command.env("PGPORT", self.server.port().to_string());
        command
    }

    fn sql(&self, database: &str, sql: &str) {
        let mut client = self.client("psql");
        client.args(["-X", "-v", "ON_ERROR_STOP=1", "-c", sql, database]);
        ended(&mut client).expect_status(0);
    }

    /// All that is on the server.
    fn dump(&self) -> String {
        let dump = ended(&mut self.client("pg_dumpall")).expect_status(0).stdout;
        // A random word in every dump, which keeps psql from being misled.
        dump.lines().filter(|line| !line.contains("restrict ")).collect::<Vec<_>>().join("\n")
    }

    /// Runs the command, with the server's password in the environment.
    fn stagefault(&self, arguments: &str) -> Ended {
        let mut command = self.place.command(arguments.split_whitespace());
        ended(command.env("PGPASSWORD", self.password()))
    }

    /// The password is in nothing that was printed or written.
    #[track_caller]
    fn assert_silent(&self, ended: &Ended) {
        let hidden = |text: &str| !text.contains(&self.password());
        assert!(hidden(&ended.stdout) && hidden(&ended.stderr), "{ended:#?}");
        for file in self.place.files() {
            assert!(hidden(&self.place.read(&file)), "{file}");
        }
    }
}

#[test]
fn in_a_database_of_its_own_a_run_leaves_the_server_as_it_was() {
    let server = Server::start();
    let before = server.dump();
    for (index, database) in ["", "not_there_yet"].into_iter().enumerate() {
        let url = server.url("stagefault", database);
        let run = format!("run --store postgres --url {url} --ops 400 --out {index}");
        let ended = server.stagefault(&run).expect_status(0);
        assert!(ended.stdout.starts_with("held: 400 operations"), "{ended:#?}");
        assert!(ended.stderr.contains("working in database stagefault@127.0.0.1:"), "{ended:#?}");
        assert_eq!(server.dump(), before);
    }
}

#[test]
fn a_signal_leaves_the_server_as_it_was() {
    let server = Server::start();
    let before = server.dump();
    let url = server.server.url();
    let url = url.strip_suffix("/postgres").expect("a database");
    let run = format!("run --store postgres --url {url} --for 8h --out here");
    let mut running = server.place.start(&run);
    running.wait_for("running postgres");
    running.signal(Signal::TERM);
    running.end().expect_status(143);
    assert_eq!(server.dump(), before);
}

#[test]
fn the_environment_names_a_server_too() {
    let server = Server::start();
    let url = server.url("stagefault", "");
    let mut command = server.place.command(["run", "--store", "postgres", "--ops", "200", "-v"]);
    let ended =
        ended(command.env("STAGEFAULT_POSTGRES_URL", url).env("PGPASSWORD", server.password()));
    let ended = ended.expect_status(0);
    assert!(ended.stderr.contains("working in database "), "{ended:#?}");
    // It is there for whoever needs it, and no mistake where nobody does.
    let mut command = server.place.command(["run", "--store", "memory", "--ops", "200"]);
    let url = "postgres://nobody@localhost:1";
    crate::support::ended(command.env("STAGEFAULT_POSTGRES_URL", url)).expect_status(0);
}

#[test]
fn a_password_in_the_url_is_shown_nowhere_and_the_replay_needs_it() {
    let server = Server::start();
    let url = server.server.url();
    let url = url.strip_suffix("/postgres").expect("a database");
    let flaw = "--flaw version-not-checked --seed 7";
    let run = format!("run --store postgres --url {url} {flaw} --out here -vvv");
    let ended = server.place.stagefault(&run).expect_status(1);
    server.assert_silent(&ended);
    let command = server.place.json("here/run.json")["command"].to_string();
    assert!(command.contains(server.url("stagefault", "").trim_end_matches('/')), "{command}");

    assert!(ended.stdout.contains("(the password is left out: set PGPASSWORD)"), "{ended:#?}");
    let replay = ended.line("replay it");
    server.place.shell(replay).expect_error(3, &["user or password", "PGPASSWORD"]);
    let again = server.place.shell(&format!("PGPASSWORD={} {replay}", server.password()));
    let again = again.expect_status(1);
    assert!(again.stdout.contains("version_monotonicity broken by Promote"), "{again:#?}");

    let url = format!("--url={url}");
    let ended = server.place.stagefault(&format!("run --store memory {url}"));
    server.assert_silent(&ended.expect_error(2, &["--url", "--store postgres"]));
}

#[test]
fn a_database_that_is_stagefaults_already_is_used_and_stays() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let options = PostgresOptions::from_url(&server.server.url().replace("/postgres", "/ours"));
    let runtime = runtime.expect("a runtime");
    let claimed = runtime.block_on(PostgresDatabase::claim(&options.expect("a URL")));
    let claimed = claimed.expect("it is made");
    let before = server.dump();
    let run = format!("run --store postgres --url {} --ops 200", server.url("stagefault", "ours"));
    server.stagefault(&run).expect_status(0);
    assert_eq!(server.dump(), before);
    runtime.block_on(claimed.remove()).expect("it is removed");
    assert_ne!(server.dump(), before);
}

#[test]
fn what_must_not_be_used_is_refused_in_a_line_and_stays_as_it_is() {
    let server = Server::start();
    server.sql("postgres", "CREATE DATABASE later");
    server.sql("postgres", "COMMENT ON DATABASE later IS 'stagefault.postgres/3'");
    server.sql("postgres", "CREATE DATABASE theirs");
    server.sql("postgres", "COMMENT ON DATABASE theirs IS 'of the night shift'");
    server.sql("postgres", "CREATE ROLE guest LOGIN PASSWORD 'guest'");
    let url = |database: &str| server.url("stagefault", database);
    let closed = "postgres://stagefault@127.0.0.1:1/x".to_owned();
    let cases: &[(String, &[&str])] = &[
        (url("app"), &["/app", "not made by stagefault", "no comment", "does not exist yet"]),
        (url("postgres"), &["/postgres", "not made by stagefault", "does not exist yet"]),
        (url("later"), &["/later", "stagefault.postgres/3", "stagefault.postgres/2"]),
        (url("theirs"), &["/theirs", "of the night shift", "does not exist yet"]),
        (url("No-Name"), &["No-Name", "small letters, digits and underscores"]),
        (server.url("guest:guest", ""), &["making a database", "permission denied", "--url"]),
        (server.url("guest:wrong", ""), &["user or password", "PGPASSWORD", ".pgpass", "--url"]),
        (closed, &["no server answers there", "127.0.0.1:1/x", "--url"]),
        ("postgres://u@db.example/app".to_owned(), &["db.example", "--allow-remote db.example"]),
    ];
    let before = server.dump();
    for (url, words) in cases {
        let run = format!("run --store postgres --url {url} --ops 200 --out here");
        let ended = server.stagefault(&run).expect_error(3, words);
        assert!(!ended.stderr.contains("guest:"), "{ended:#?}");
        server.place.write("fine.json", crate::replaying::CREATES);
        let replay = format!("replay fine.json --store postgres --url {url}");
        server.stagefault(&replay).expect_error(3, words);
        assert_eq!(server.place.files(), ["fine.json"], "{url}");
    }
    assert_eq!(server.dump(), before);
    // One that wants a password, and is told none.
    let run = format!("run --store postgres --url {} --ops 200", url(""));
    let ended = server.place.stagefault(&run);
    ended.expect_error(3, &["user or password", "PGPASSWORD"]);
    assert_eq!(server.dump(), before);
}

#[test]
fn another_host_is_worked_on_when_it_is_allowed_by_its_name() {
    let server = Server::start();
    // This machine, by an address that is not a loopback one.
    let url = server.url("stagefault", "").replace("127.0.0.1", "0.0.0.0");
    let run = format!("run --store postgres --url {url} --flaw version-not-checked --seed 7");
    server.stagefault(&run).expect_error(3, &["0.0.0.0", "--allow-remote 0.0.0.0"]);
    let ended = server.stagefault(&format!("{run} --allow-remote 0.0.0.0")).expect_status(1);
    assert!(ended.line("replay it").ends_with(" --allow-remote 0.0.0.0"), "{ended:#?}");
}

#[test]
fn what_is_no_url_of_a_server_is_refused_without_being_quoted() {
    let place = Place::new();
    for url in ["hush", "mysql://u:hush@localhost/d", "postgres://u:hush@h:port/d"] {
        let ended = place.stagefault(&format!("run --store postgres --url {url}"));
        let ended = ended.expect_error(2, &["postgres://user@localhost:5432"]);
        assert!(!ended.stderr.contains("hush"), "{ended:#?}");
    }
    assert!(place.files().is_empty());
}

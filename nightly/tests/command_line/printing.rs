//! What is printed where: results on standard output, all else on standard error; pipes
//! that break; help and completions.

use std::fs::OpenOptions;
use std::process::Stdio;

use crate::replaying::{APPENDS_TWICE, CREATES};
use crate::support::{Place, Running};

#[test]
fn a_reader_that_goes_away_is_no_panic_and_the_verdict_stays() {
    let place = Place::new();
    place.write("twice.json", APPENDS_TWICE);
    let flaw = "--store memory --flaw append-not-idempotent";
    let cases = [
        ("run --store memory --ops 400".to_owned(), 0),
        ("run --store memory --ops 400 --json".to_owned(), 0),
        (format!("run {flaw} --ops 1000000 --seed 7"), 1),
        (format!("replay twice.json {flaw}"), 1),
        (format!("shrink twice.json {flaw}"), 1),
        ("completions bash".to_owned(), 0),
        ("--help".to_owned(), 0),
    ];
    for (command, status) in cases {
        let mut running = place.start(&command);
        running.close_stdout();
        let ended = running.end().expect_status(status);
        assert!(!ended.stderr.contains("panic"), "{command}: {ended:#?}");
        assert!(!ended.stderr.contains("error"), "{command}: {ended:#?}");
    }
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    let place = Place::new();
    place.write("fine.json", CREATES);
    for command in ["run --store memory --ops 400", "replay fine.json", "completions zsh"] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("it is there");
        let mut child = place.command(command.split(' '));
        let ended = Running::start(child.stdout(Stdio::from(full))).end();
        ended.expect_error(3, &["standard output", "No space left"]);
    }
}

#[test]
fn nothing_but_the_opening_line_is_on_standard_error_unless_it_is_asked_for() {
    let place = Place::new();
    let quiet = place.stagefault("run --store memory --ops 400 --out quiet").expect_status(0);
    assert_eq!(quiet.stderr.lines().count(), 1, "{quiet:#?}");
    let loud = place.stagefault("run --store memory --ops 400 --out loud -vv").expect_status(0);
    assert!(loud.stderr.contains("DEBUG"), "{loud:#?}");
    assert!(!loud.stdout.contains("DEBUG"), "{loud:#?}");
    let asked = "RUST_LOG=stagefault=debug stagefault run --store memory --ops 400 --out asked";
    assert!(place.shell(asked).expect_status(0).stderr.contains("DEBUG"));
    let odd = "RUST_LOG='a=b=c' stagefault run --store memory --ops 400 --out odd";
    assert!(place.shell(odd).expect_status(0).stderr.contains("RUST_LOG is ignored"));
}

#[test]
fn nothing_is_coloured_where_it_is_not_read_on_a_terminal() {
    let place = Place::new();
    for command in ["run --store memory --ops 400 -vvv", "--help", "run --store none"] {
        let ended = place.stagefault(command);
        assert!(!ended.stdout.contains('\x1b') && !ended.stderr.contains('\x1b'), "{ended:#?}");
    }
}

#[test]
fn help_lists_the_profiles_and_what_the_exit_status_says() {
    let place = Place::new();
    let help = place.stagefault("run --help").expect_status(0).stdout;
    for profile in stagefault_properties::profile::PROFILES {
        let line = help.lines().find(|line| line.contains(&format!("- {}:", profile.name)));
        assert!(line.is_some_and(|line| line.contains(profile.about)), "{}: {help}", profile.name);
    }
    for command in ["", "run ", "replay ", "shrink "] {
        let help = place.stagefault(&format!("{command}--help")).expect_status(0).stdout;
        assert!(help.contains("Examples:\n  stagefault"), "{help}");
        assert!(help.contains("Exit status:"), "{help}");
    }
}

#[test]
fn completions_are_printed_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.stagefault(&format!("completions {shell}")).expect_status(0).stdout;
        assert!(script.contains("stagefault") && script.contains("replay"), "{shell}: {script}");
    }
}

#[test]
fn the_version_is_printed() {
    let ended = Place::new().stagefault("--version").expect_status(0);
    assert_eq!(ended.stdout, format!("stagefault {}\n", env!("CARGO_PKG_VERSION")));
}

//! Ctrl-C and SIGTERM at every moment: whole artifacts, no store, a status that says so.

use std::process::Stdio;

use rustix::process::Signal;
use stagefault_models::Schedule;

use crate::replaying::CREATES;
use crate::support::{Place, Running, full_pipe};

#[test]
fn a_signal_ends_a_run_in_order() {
    for store in ["memory", "sqlite"] {
        for (signal, status, name) in [(Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM")]
        {
            let place = Place::new();
            let mut running = place.start(&format!("run --store {store} --for 8h --out here"));
            running.wait_for("running");
            running.signal(signal);
            let ended = running.end().expect_status(status);
            let beginning = format!("interrupted by {name}, held until then: ");
            assert!(ended.stdout.starts_with(&beginning), "{ended:#?}");
            assert_eq!(place.files(), ["here/run.json", "here/summary.json"]);
            let summary = place.json("here/summary.json");
            assert_eq!(
                (&summary["outcome"], &summary["signal"]),
                (&"interrupted".into(), &name.into())
            );
        }
    }
}

/// A schedule that takes very long to shrink and never gets shorter: two messages of
/// nearly 1 MiB must stay equal to each other, so no simpler form of either fails alike.
fn stubborn() -> String {
    let texts: Vec<String> = (0..400).map(|number| format!("\"{number:02000}\"")).collect();
    let message = format!(r#"{{"id":"m","body":[{}]}}"#, texts.join(","));
    let append = format!(r#"{{"AppendMessages":{{"session":"s","messages":[{message}]}}}}"#);
    let append = format!(r#"{{"writer":0,"operation":{append}}}"#);
    CREATES.replace("\n]", &format!(",\n{append},\n{append}\n]"))
}

#[test]
fn a_signal_while_shrinking_keeps_the_best_so_far() {
    let place = Place::new();
    place.write("stubborn.json", stubborn());
    let flaw = "--store memory --flaw append-not-idempotent";
    let mut running = place.start(&format!("shrink stubborn.json {flaw}"));
    running.wait_for("shrinking");
    running.signal(Signal::INT);
    let ended = running.end().expect_status(1);
    assert!(ended.stdout.starts_with("shrinking was interrupted by SIGINT after "), "{ended:#?}");
    assert_eq!(place.files(), ["stubborn.json", "stubborn.shrunk.json"]);
    place.shell(ended.line("replay it")).expect_status(1);
}

#[test]
fn a_signal_while_a_run_shrinks_leaves_all_artifacts_and_no_store() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        let flaw = "--store memory --flaw append-not-idempotent";
        let mut running =
            place.start(&format!("run {flaw} --profile large --seed 7 --for 8h --out here"));
        running.wait_for("shrinking");
        running.signal(signal);
        let ended = running.end().expect_status(1);
        let expected = [
            "here/failures/1/explanation.txt",
            "here/failures/1/schedule.json",
            "here/failures/1/shrunk.json",
            "here/failures/1/violation.json",
            "here/run.json",
            "here/summary.json",
        ];
        assert_eq!(place.files(), expected);
        let shrunk = place.read("here/failures/1/shrunk.json");
        Schedule::from_json(&shrunk).expect("a whole schedule");
        assert_eq!(place.json("here/summary.json")["outcome"], "violation");
        place.shell(ended.line("replay it")).expect_status(1);
    }
}

#[test]
fn a_second_signal_ends_it_at_once_whatever_it_is_at() {
    let place = Place::new();
    let (_reader, writer) = full_pipe();
    let mut command = place.command("run --store memory --for 8h --out here".split(' '));
    let mut running = Running::start(command.stdout(Stdio::from(writer)));
    running.wait_for("running");
    running.signal(Signal::INT);
    running.wait_for("SIGINT: stopping; once more to stop at once");
    while !place.path("here/summary.json").exists() {
        std::thread::yield_now();
    }
    // It has ended in order but for this: nobody reads its summary.
    running.signal(Signal::INT);
    running.end().expect_status(130);
    assert_eq!(place.files(), ["here/run.json", "here/summary.json"]);
}

#[test]
fn a_signal_ends_a_replay_and_what_was_not_replayed_is_said() {
    let place = Place::new();
    place.write("fine.json", CREATES);
    let many = "fine.json ".repeat(5000);
    // It cannot end before the signal: nobody reads its lines.
    let (reader, writer) = full_pipe();
    let mut command = place.command(format!("replay {many} --store memory -v").split_whitespace());
    let mut running = Running::start(command.stdout(Stdio::from(writer)));
    running.wait_for("replaying 5000 schedules");
    running.signal(Signal::TERM);
    running.wait_for("SIGTERM: stopping");
    drop(command);
    let stdout = std::io::read_to_string(reader).expect("text");
    running.end().expect_status(143);
    let last = stdout.lines().last().expect("a line");
    assert!(last.starts_with("5000 schedules: "), "{last}");
    assert!(last.ends_with(" not replayed: interrupted by SIGTERM"), "{last}");
    assert_eq!(place.files(), ["fine.json"]);
}

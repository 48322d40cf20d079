//! SIGKILL at random moments, and `--resume`: nothing is lost but the last second, nothing
//! is run or counted twice, nothing is skipped.

use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::Place;

const RUN: &str = "run --writers 8 --store memory --seed 5 --ops";

/// How often a run is killed; `STAGEFAULT_KILLS` says another number.
fn kills() -> u64 {
    std::env::var("STAGEFAULT_KILLS").map_or(4, |text| text.parse().expect("a number"))
}

/// The episodes that the journal's whole lines hold, after each was found where it must be.
fn journaled(place: &Place, folder: &str) -> u64 {
    let path = place.path(&format!("{folder}/journal.jsonl"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut next = 0;
    for line in whole.lines().skip(1) {
        let line: Value = serde_json::from_str(line).expect("a whole line");
        assert_eq!(line["first"], next, "an episode is skipped or run again");
        next += line["episodes"].as_u64().expect("a count");
    }
    next
}

#[test]
fn a_run_that_is_killed_at_random_moments_comes_to_what_one_that_is_not_comes_to() {
    // In memory, episodes repeat with certainty, and so does what is counted in them.
    let operations = 40_000 * kills();
    let place = Place::new();
    let mut random = SmallRng::seed_from_u64(1);
    let mut command = format!("{RUN} {operations} --out killed");
    let (mut killed, mut before) = (0, 0);
    loop {
        let mut running = place.start(&command);
        running.wait_for(if killed == 0 { "running" } else { "going on" });
        // The moment is what varies; nothing waits for it.
        let moment = Instant::now() + Duration::from_millis(random.random_range(0..1800));
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        if killed == kills() {
            running.end().expect_status(0);
            break;
        }
        running.signal(Signal::KILL);
        match running.end().status {
            None => killed += 1,
            // A fast machine had done it all by then.
            status => {
                assert_eq!((status, killed > 0), (Some(0), true), "it was never killed");
                break;
            }
        }
        let now = journaled(&place, "killed");
        assert!(now >= before, "the journal had {before} episodes, and has {now}");
        before = now;
        command = "run --resume killed".to_owned();
    }
    eprintln!("killed {killed} times");
    place.stagefault(&format!("{RUN} {operations} --out whole")).expect_status(0);
    let (killed, whole) = (place.json("killed/summary.json"), place.json("whole/summary.json"));
    for figure in ["outcome", "episodes", "operations", "completions", "faults"] {
        assert_eq!(killed[figure], whole[figure], "{figure}");
    }
    assert_eq!(journaled(&place, "killed"), killed["episodes"].as_u64().expect("a count"));
    assert!(place.temporary().read_dir().expect("a folder").next().is_none());
}

#[test]
fn a_killed_run_on_files_goes_on_and_leaves_no_store() {
    let place = Place::new();
    let mut running = place.start("run --writers 4 --store sqlite --ops 1500 --out here");
    running.wait_for("running");
    while !place.path("here/store").exists() {
        std::thread::yield_now();
    }
    running.signal(Signal::KILL);
    running.end();
    let ended = place.stagefault("report here").expect_status(3);
    assert!(ended.stdout.starts_with("unfinished: "), "{ended:#?}");
    let ended = place.stagefault("run --resume here").expect_status(0);
    assert!(ended.stdout.starts_with("held: "), "{ended:#?}");
    assert!(!place.path("here/store").exists());
}

/// A finished run, to be damaged.
fn finished() -> Place {
    let place = Place::new();
    place.stagefault(&format!("{RUN} 2000 --out here")).expect_status(0);
    place
}

#[test]
fn a_finished_run_is_not_run_again() {
    let place = finished();
    let before = place.read("here/journal.jsonl");
    place.stagefault("run --resume here").expect_status(0);
    assert_eq!(place.read("here/journal.jsonl"), before);
}

#[test]
fn a_last_line_that_a_crash_cut_off_is_run_again() {
    let place = finished();
    let (journal, summary) = (place.read("here/journal.jsonl"), place.json("here/summary.json"));
    for cut in [1, 20, 400, journal.len() - 10, journal.len()] {
        place.write("here/journal.jsonl", &journal[..journal.len() - cut]);
        place.stagefault("run --resume here").expect_status(0);
        let again = place.json("here/summary.json");
        for figure in ["episodes", "operations", "completions"] {
            assert_eq!(again[figure], summary[figure], "{figure} with {cut} bytes cut off");
        }
    }
}

#[test]
fn damage_elsewhere_is_said_with_its_line() {
    let place = finished();
    let journal = place.read("here/journal.jsonl");
    let cases = [
        (journal.replacen("journal/1", "journal/2", 1), "line 1 is damaged"),
        (
            journal.replacen("\"first\":0", "\"first\":3", 1),
            "line 2 is damaged: it begins with episode 3",
        ),
        (journal.replacen("\"completions\"", "\"completion\"", 1), "line 2 is damaged"),
        (journal.clone() + "\n", "is damaged"),
        (journal.clone() + &"\0".repeat(9) + "\n", "is damaged"),
    ];
    for (damaged, words) in cases {
        place.write("here/journal.jsonl", damaged);
        for command in ["run --resume here", "report here"] {
            place.stagefault(command).expect_error(2, &["here/journal.jsonl", words]);
        }
    }
}

#[test]
fn a_run_that_is_under_way_is_not_gone_on_with() {
    let place = Place::new();
    let mut running = place.start("run --writers 2 --store memory --for 60s --out here");
    running.wait_for("running");
    place.stagefault("run --resume here").expect_error(2, &["another process is running here"]);
    running.signal(Signal::INT);
    running.end().expect_status(130);
}

#[test]
fn a_failure_whose_line_was_lost_counts_once() {
    let place = Place::new();
    let run = format!("{RUN} 90000 --flaw promote-checks-first --max-failures 2 --out here");
    place.stagefault(&run).expect_status(1);
    let (journal, summary) = (place.read("here/journal.jsonl"), place.json("here/summary.json"));
    // As if it had been killed after the first failure was written and before its line was.
    let kept = journal.lines().take_while(|line| !line.contains("\"failures\""));
    place.write("here/journal.jsonl", kept.collect::<Vec<_>>().join("\n") + "\n");
    std::fs::remove_dir_all(place.path("here/failures/2")).expect("it is there");
    place.stagefault("run --resume here").expect_status(1);
    let again = place.json("here/summary.json");
    for figure in ["failures", "episodes", "completions"] {
        assert_eq!(again[figure], summary[figure], "{figure}");
    }
    assert!(!place.path("here/failures/3").exists());
}

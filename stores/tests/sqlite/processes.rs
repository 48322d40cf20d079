//! A process that writes and is killed, or has no more room: what it acknowledged is there,
//! what it was told is true, and the file is sound.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sqlx::Row;
use stagefault_models::{Operation, Reply};

use crate::support::*;

/// Cargo builds the examples before it runs all tests, beside the folder that we are in.
fn writer() -> PathBuf {
    let ourselves = std::env::current_exe().expect("our own path");
    let example = ourselves.ancestors().nth(2).expect("a folder").join("examples/append_to_sqlite");
    let hint = "run first: cargo build -p stagefault-stores --examples";
    assert!(example.exists(), "{} is not built; {hint}", example.display());
    example
}

/// How often the writer is killed: STAGEFAULT_KILLS, or a few times.
fn kills() -> u64 {
    let kills = std::env::var("STAGEFAULT_KILLS").ok();
    kills.map_or(5, |kills| kills.parse().expect("STAGEFAULT_KILLS is a number"))
}

/// How many messages there are, in a file that must be sound.
async fn stored(path: &Path) -> u64 {
    let backend = open(path).await;
    let read = Operation::ReadMessages { session: "s".into(), offset: 0, limit: 0 };
    let reply = done(&mut handle(&backend).await, read).await;
    let Reply::Page { total, .. } = reply else { panic!("{reply:?}") };
    let check = sqlx::query("PRAGMA integrity_check");
    let found = check.fetch_all(&mut raw(path).await).await.expect("a check");
    let found: Vec<String> = found.iter().map(|row| row.get(0)).collect();
    assert_eq!(found, ["ok"]);
    total
}

#[tokio::test]
async fn what_a_process_acknowledged_before_it_was_killed_is_there_and_the_file_is_sound() {
    let folder = folder();
    let path = folder.path().join("store.db");
    let mut before = 0;
    for round in 0..kills() {
        let mut child = Command::new(writer())
            .arg(&path)
            .arg("20000")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the writer starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        // Wherever it is by then; the next round goes on where this one ended.
        let enough = usize::try_from(1 + round * 7 % 40).expect("a small number");
        let mut acknowledged = lines.by_ref().take(enough).count() as u64;
        assert_eq!(acknowledged, enough as u64, "the writer ended by itself");
        child.kill().expect("it is killed");
        child.wait().expect("it has ended");
        acknowledged += lines.map_while(Result::ok).filter(|line| line == "Done").count() as u64;
        let after = stored(&path).await;
        // One more may have been written, and not told.
        let there = after - before;
        assert!((acknowledged..=acknowledged + 1).contains(&there), "{acknowledged} {there}");
        before = after;
    }
}

#[tokio::test]
async fn a_process_without_room_is_told_what_is_true_and_the_file_is_sound() {
    // In blocks of 512 bytes, for each file: before the log is full, and after some writes.
    for (blocks, size) in [(400, 20_000), (2_000, 300_000), (600, 1_000)] {
        let folder = folder();
        let path = folder.path().join("store.db");
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(limit).arg(writer()).arg(&path).arg(size.to_string());
        let output = shell.output().expect("the writer runs");
        let said = String::from_utf8(output.stdout).expect("text");
        let lines: Vec<&str> = said.lines().collect();
        let (last, acknowledged) = lines.split_last().expect("it wrote, and then had no room");
        assert!(acknowledged.iter().all(|line| *line == "Done"), "{said}");
        let (least, stored) = (acknowledged.len() as u64, stored(&path).await);
        match *last {
            "NotApplied" => assert_eq!(stored, least),
            "Unknown" => assert!((least..=least + 1).contains(&stored), "{least} {stored}"),
            other => panic!("{other}"),
        }
        // There is room again, for us.
        let backend = open(&path).await;
        done(&mut handle(&backend).await, append("s", vec![message("last", 1)])).await;
    }
}

//! The server's disk is full: nothing is applied, the writer is told why, and when there is
//! room again the same handle works.
//!
//! The disk is a small file system in memory, which only root can make, and not in every
//! container. Elsewhere the test shows as ignored; where `CI=true`, root must be able to.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use stagefault_models::{Cause, Completion, Value};
use tempfile::TempDir;

use crate::support::*;

/// The test, for a server or for the reason why there is none.
pub fn trial(url: Result<String, String>) -> Trial {
    let name = "postgres::disk_full::what_finds_no_room_is_not_applied_and_works_when_there_is";
    let required = is_required() && rustix::process::geteuid().is_root();
    let ignored = !required && (url.is_err() || !Disk::can_be_made());
    Trial::test(name, move || run(|server| Box::pin(what_finds_no_room(server)), Server::at(url?)))
        .with_ignored_flag(ignored)
}

async fn what_finds_no_room(server: Server) {
    let disk = Disk::for_server(&server).await;
    let place = disk.place.path().display();
    server.execute_raw(&format!("CREATE TABLESPACE small LOCATION '{place}'")).await;
    server.execute_raw("CREATE DATABASE small TABLESPACE small").await;
    let small = server.in_database("small");
    let backend = small.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;

    let mut acknowledged = 0;
    let failure = loop {
        let large = message(&format!("m{acknowledged}"), incompressible());
        match execute(&mut store, append("s", vec![large])).await {
            Completion::Done(_) => acknowledged += 1,
            Completion::NotApplied(failure) => break failure,
            other => panic!("{other:?}"),
        }
        assert!(acknowledged < 64, "the disk does not fill");
    };
    assert_eq!(failure.cause, Cause::OutOfSpace, "{failure}");
    assert_eq!(snapshot(&mut store, "s").await.message_count, acknowledged);

    disk.resize("256m");
    done(&mut store, append("s", vec![message("last", 1)])).await;
    assert_eq!(snapshot(&mut store, "s").await.message_count, acknowledged + 1);
    drop(store);
    remove(&small, backend).await;
    server.execute_raw("DROP DATABASE small WITH (FORCE)").await;
    server.execute_raw("DROP TABLESPACE small").await;
}

/// Half a MiB that the server cannot store in less.
fn incompressible() -> Value {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + ((state >> 40) % 90) as u8)
    };
    Value::string((0..1 << 19).map(letter).collect::<String>())
}

/// A small file system.
struct Disk {
    place: TempDir,
}

impl Disk {
    fn can_be_made() -> bool {
        let place = tempfile::tempdir().expect("a folder");
        let mounted = mount(&["-t", "tmpfs", "tmpfs"], place.path());
        if mounted {
            drop(Disk { place });
        }
        mounted
    }

    /// One that belongs to the user that the server runs as.
    async fn for_server(server: &Server) -> Self {
        let data = texts(&mut server.raw().await, "SHOW data_directory").await;
        let owner = fs::metadata(&data[0]).expect("the server's data");
        let disk = Disk { place: tempfile::tempdir_in("/tmp").expect("a folder") };
        let options = format!("size=20m,mode=700,uid={},gid={}", owner.uid(), owner.gid());
        let mounted = mount(&["-t", "tmpfs", "-o", &options, "tmpfs"], disk.place.path());
        assert!(mounted, "no file system can be made in memory");
        disk
    }

    fn resize(&self, size: &str) {
        assert!(mount(&["-o", &format!("remount,size={size}")], self.place.path()));
    }
}

fn mount(arguments: &[&str], place: &Path) -> bool {
    let ended = Command::new("mount").args(arguments).arg(place).output();
    ended.is_ok_and(|ended| ended.status.success())
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, for after a failure the server still uses it.
        let ended = Command::new("umount").arg("--lazy").arg(self.place.path()).output();
        if !ended.is_ok_and(|ended| ended.status.success()) {
            eprintln!("{} stays mounted", self.place.path().display());
        }
    }
}

//! The client from npm. It is installed for the test, as the lock file says.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::desk::Desk;
use crate::{runtime, url};

pub fn trials() -> Vec<Trial> {
    let has_npm = Command::new("npm").arg("--version").output().is_ok_and(|it| it.status.success());
    let is_ignored = !has_npm && std::env::var("CI").as_deref() != Ok("true");
    let drives = Trial::test("node::the_client_from_npm_sees_every_toxic", drives);
    vec![drives.with_ignored_flag(is_ignored)]
}

fn drives() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/toxiproxy_clients/node");
    for name in ["package.json", "package-lock.json", "effects.mjs"] {
        fs::copy(source.join(name), folder.path().join(name))?;
    }
    let flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    run(Command::new("npm").arg("ci").args(flags).current_dir(folder.path()))?;
    let runtime = runtime();
    let desk = runtime.block_on(Desk::new());
    let said = run(Command::new("node")
        .arg("effects.mjs")
        .env("TOXIPROXY", url(&desk))
        .env("ECHO", desk.echo().to_string())
        .current_dir(folder.path()))?;
    assert!(said.ends_with("all toxics seen\n"), "{said}");
    Ok(())
}

/// Runs a program to its end; the answer is what it printed.
fn run(command: &mut Command) -> Result<String, Failed> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let (said, complained) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{command:?}: {}\n{said}{complained}", output.status).into()),
    }
}

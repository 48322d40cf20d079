//! The files for CI systems, as far as they can be tried without one: they are YAML, and the
//! commands in them work, with the variables that the system would set.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, ended};

/// A place with the script that the files call.
fn place_with_script() -> Place {
    let place = Place::new();
    for name in ["lane.sh", "packages.sh", "known.json"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        place.write(&format!("nightly/{name}"), "");
        std::fs::copy(from, place.path(&format!("nightly/{name}"))).expect("it can be copied");
    }
    place
}

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let text = std::fs::read_to_string(path).expect("it is there");
    assert!(text.contains("not run on"), "{name} does not say that it has not run there");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs a step of a file for a moment, in memory.
#[track_caller]
fn step(place: &Place, script: &str, variables: &[(&str, String)]) {
    let script = script.replace("--for 8h", "--for 200ms").replace("/night/", "");
    let mut command = Command::new("bash");
    command.args(["-euc", &script]).current_dir(place.path("")).env("TMPDIR", place.temporary());
    command.env("STAGEFAULT", env!("CARGO_BIN_EXE_stagefault")).env("STORE", "memory");
    command.env("FOR", "200ms").env("STAGEFAULT_FOR", "200ms").env("SEED", "7");
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    ended(&mut command).expect_status(0);
}

/// The scripts below a value, joined.
fn script(value: &Value) -> String {
    let lines = value.as_array().expect("a list").iter();
    lines.map(|line| line.as_str().expect("text")).collect::<Vec<_>>().join("\n")
}

/// The steps of a workflow's job that call the script.
fn step_of(job: &Value) -> &str {
    let steps = job["steps"].as_array().expect("a list").iter();
    let mut scripts = steps.filter_map(|step| step["run"].as_str());
    scripts.find(|script| script.contains("nightly/lane.sh")).expect("a step")
}

#[test]
fn the_github_workflow_runs_each_shard_and_joins_them() {
    let (place, file) = (place_with_script(), read("../.github/workflows/nightly.yml"));
    let lane = &file["jobs"]["lane"];
    let shards = lane["strategy"]["matrix"]["shard"].as_array().expect("a list");
    for shard in shards {
        let of = lane["env"]["SHARD"].as_str().expect("text").replace("${{ matrix.shard }}", "");
        let variables = [("NAME", format!("memory-{shard}")), ("SHARD", format!("{shard}{of}"))];
        step(&place, step_of(lane), &variables);
    }
    step(&place, step_of(&file["jobs"]["report"]), &[]);
    assert!(place.read("night-memory/issue.md").starts_with("### held: "));
}

#[test]
fn the_toxiproxy_workflow_runs_a_script_that_is_there() {
    let file = read("../.github/workflows/toxiproxy.yml");
    let steps = file["jobs"]["clients"]["steps"].as_array().expect("a list");
    let scripts: Vec<_> = steps.iter().filter(|step| step["run"] == ".ci/toxiproxy").collect();
    let url = scripts.iter().filter(|step| step["env"]["STAGEFAULT_TOXIPROXY_URL"].is_string());
    assert_eq!((scripts.len(), url.count()), (2, 1));
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/toxiproxy").exists());
}

#[test]
fn the_gitlab_jobs_run_each_shard_and_join_them() {
    let (place, file) = (place_with_script(), read("gitlab-ci.yml"));
    let count = file[".lane"]["parallel"].as_u64().expect("a count");
    for index in 1..=count {
        let variables = [
            ("CI_NODE_INDEX", index.to_string()),
            ("CI_NODE_TOTAL", count.to_string()),
            ("CI_PIPELINE_ID", "7".to_owned()),
        ];
        step(&place, &script(&file[".lane"]["script"]), &variables);
    }
    step(&place, &script(&file[".report"]["script"]), &[]);
    for store in ["memory", "sqlite", "postgres", "chaos"] {
        let report = &file[format!("report {store}")];
        assert_eq!(report["artifacts"]["reports"]["junit"], format!("night-{store}/junit.xml"));
        assert_eq!(report["needs"][0], format!("lane {store}"));
    }
    assert!(place.path("night-memory/junit.xml").exists());
}

#[test]
fn the_kubernetes_job_runs_a_shard_in_each_pod() {
    let (place, file) = (place_with_script(), read("kubernetes-job.yaml"));
    let spec = &file["spec"];
    assert_eq!((&file["kind"], &spec["completionMode"]), (&"Job".into(), &"Indexed".into()));
    let args = script(&spec["template"]["spec"]["containers"][0]["args"]);
    let count = spec["completions"].as_u64().expect("a count");
    for index in 0..count {
        step(&place, &args, &[("JOB_COMPLETION_INDEX", index.to_string())]);
    }
    // A pod that takes another's place goes on with its shard.
    step(&place, &args, &[("JOB_COMPLETION_INDEX", "0".to_owned())]);
    step(&place, "nightly/lane.sh join night shards/*", &[]);
    assert_eq!(place.json("night/summary.json")["shards"].as_array().map(Vec::len), Some(8));
}

#[test]
fn the_script_refuses_what_it_does_not_know() {
    let place = place_with_script();
    for arguments in ["", "run", "walk night", "join night"] {
        let mut command = Command::new("bash");
        command.arg(place.path("nightly/lane.sh")).args(arguments.split_whitespace());
        let command = command.env("STAGEFAULT", env!("CARGO_BIN_EXE_stagefault"));
        let ended = ended(command).expect_status(2);
        assert!(ended.stderr.contains("nightly/lane.sh run FOLDER"), "{ended:#?}");
    }
}

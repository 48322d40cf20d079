//! Every published history gets its verdict.
//!
//! They lie in a folder of their own, beside the checkout or where `STAGEFAULT_HISTORIES`
//! says. Where there is none, the one test that needs it is listed as ignored.

#[path = "../specifications/mod.rs"]
mod specifications;

use std::ops::ControlFlow;
use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use stagefault_models::checker::{Specification, Verdict, check};

use specifications::key_value::KeyValue;
use specifications::register::Register;
use specifications::{etcd, published};

fn main() {
    let arguments = Arguments::from_args();
    let trials = match published::folder() {
        None => {
            let missing =
                format!("the_published_histories_are_here_or_where_{}_says", published::VARIABLE);
            vec![Trial::test(missing, || Ok(())).with_ignored_flag(true)]
        }
        Some(folder) => {
            let verdicts = published::verdicts(&folder);
            let mut trials = vec![Trial::test("there_are_66_published_histories", {
                let count = verdicts.len();
                move || (count == 66).then_some(()).ok_or_else(|| Failed::from(count.to_string()))
            })];
            for (file, linearizable) in verdicts {
                let folder = folder.clone();
                let name = format!(
                    "{file}_is_{}",
                    if linearizable { "linearizable" } else { "a_violation" }
                );
                trials.push(Trial::test(name, move || verdict_is(&folder, &file, linearizable)));
            }
            trials
        }
    };
    libtest_mimic::run(&arguments, trials).exit();
}

fn verdict_is(folder: &Path, file: &str, linearizable: bool) -> Result<(), Failed> {
    let text = published::read(folder, file);
    if file.starts_with("etcd") {
        return found(&Register, etcd::read(&text), linearizable);
    }
    let (calls, names) = published::key_value(&text);
    found(&KeyValue::by_name(), calls.clone(), linearizable)?;
    // As one partition 50 clients are out of reach.
    if file.contains("c50") { Ok(()) } else { found(&KeyValue::whole(names), calls, linearizable) }
}

fn found<S: Specification>(
    specification: &S,
    calls: Vec<stagefault_models::checker::Called<S::Operation, S::Answer>>,
    linearizable: bool,
) -> Result<(), Failed> {
    match check(specification, calls, |_| ControlFlow::Continue(())) {
        Verdict::Linearizable { .. } if linearizable => Ok(()),
        Verdict::Violation(_) if !linearizable => Ok(()),
        Verdict::Linearizable { .. } => Err("it is found linearizable".into()),
        Verdict::Violation(violation) => {
            Err(format!("it is found a violation after {} operations", violation.prefix.len())
                .into())
        }
        Verdict::Undecided(undecided) => Err(undecided.why.into()),
    }
}

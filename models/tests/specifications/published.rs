//! The folder of published histories with known verdicts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::key_value::{Ask, Call, On};

/// The variable that names another folder of the same layout.
pub const VARIABLE: &str = "STAGEFAULT_HISTORIES";

/// The folder: what the variable names, and else the one beside the checkout, if it is there.
///
/// # Panics
/// When the variable names what is no folder, for then somebody wants it.
pub fn folder() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let folder = PathBuf::from(named);
        assert!(folder.is_dir(), "{VARIABLE} names no folder: {}", folder.display());
        return Some(folder);
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/histories");
    beside.is_dir().then_some(beside)
}

/// The files with their verdicts: whether each is linearizable.
pub fn verdicts(folder: &Path) -> Vec<(String, bool)> {
    let table = read(folder, "verdicts.tsv");
    let rows = table.lines().skip(1).map(|row| {
        let (file, verdict) = row.split_once('\t').expect(row);
        match verdict {
            "linearizable" => (file.to_owned(), true),
            "violation" => (file.to_owned(), false),
            _ => panic!("{row}"),
        }
    });
    rows.collect()
}

/// The text of a file.
pub fn read(folder: &Path, file: &str) -> String {
    let path = folder.join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The calls of a key-value log, and how many names it has.
pub fn key_value(text: &str) -> (Vec<Call>, usize) {
    let (mut calls, mut open) = (Vec::<Call>::new(), HashMap::new());
    let mut names = HashMap::new();
    for (at, line) in (0u64..).zip(text.lines()) {
        let process = field(line, ":process ").expect(line);
        let value = field(line, ":value ").expect(line).trim_matches('"');
        if line.contains(":type :invoke") {
            let ask = match field(line, ":f ").expect(line) {
                ":get" => Ask::Get,
                ":put" => Ask::Put(value.into()),
                ":append" => Ask::Append(value.into()),
                other => panic!("{other}"),
            };
            let count = names.len();
            let name = *names.entry(field(line, ":key ").expect(line)).or_insert(count);
            open.insert(process, calls.len());
            calls.push(Call { operation: On { name, ask }, called: at, returned: None });
        } else {
            let call = &mut calls[open.remove(process).expect("an open operation")];
            let read = (call.operation.ask == Ask::Get).then(|| value.into());
            call.returned = Some((at, read));
        }
    }
    (calls, names.len())
}

/// What follows the name, up to the comma or the brace.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(name)?;
    match rest.strip_prefix('"') {
        Some(text) => text.split_once('"').map(|(text, _)| text),
        None => rest.split([',', '}']).next(),
    }
}

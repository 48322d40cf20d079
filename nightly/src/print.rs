//! Writing to the terminal, or to whatever is in its place.
//!
//! Results go to standard output, all else to standard error. A reader that went away
//! (`stagefault run | head`) is no reason to panic, nor to forget the verdict: the rest is
//! written to nobody, and the exit status still says what was found.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use crate::error::CommandError;

/// Writes a result to standard output, with a line end.
///
/// # Errors
/// The system's, but not that the reader went away.
pub fn result(text: impl fmt::Display) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CommandError::Output(error)),
        _ => Ok(()),
    }
}

/// Writes a line to standard error. When that cannot be, there is nobody left to tell.
pub fn note(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes the one line that says what went wrong and what to do.
pub fn error(error: &CommandError) {
    note(format_args!("error: {error}"));
}

/// For what must not hide a violation that was found: the error is said, and that is all.
pub fn or_say(outcome: Result<(), CommandError>) {
    if let Err(failure) = outcome {
        error(&failure);
    }
}

/// The command with its arguments, to be pasted into a shell.
pub fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(quoted).collect();
    quoted.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The text, cut to so many characters.
pub fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_line_quotes_what_a_shell_would_change() {
        let line = shell_line(["stagefault", "replay", "a b/it's.json", "--store", "sqlite", ""]);
        assert_eq!(line, r"stagefault replay 'a b/it'\''s.json' --store sqlite ''");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 2), "äö…");
        assert_eq!(cut("äöü", 3), "äöü");
    }
}

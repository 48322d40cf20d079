//! Which kinds of statements a text of SQL holds: as much as it takes to know a commit.
//!
//! Nothing is parsed but words outside of literals, quoted names and comments.

/// A kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Begins a transaction.
    Begin,
    /// Commits one.
    Commit,
    /// Rolls one back.
    Rollback,
    /// Sets a parameter, or marks a point within a transaction.
    Control,
    /// Writes, as far as its words tell: a function that is called may write as well.
    Write,
    /// Any other.
    Other,
}

impl Statement {
    /// Whether it is one of the statements that an operation consists of, and so is counted.
    pub fn is_counted(self) -> bool {
        matches!(self, Statement::Write | Statement::Other)
    }
}

/// The statements of a text, in order; none of an empty one.
pub fn statements(sql: &str) -> Vec<Statement> {
    let mut words = Words { rest: sql.as_bytes(), depth: 0, qualified: false };
    let mut statements = Vec::new();
    let mut current: Vec<String> = Vec::new();
    while let Some(token) = words.next_token() {
        match token {
            Token::Word(word) => current.push(word),
            Token::End => statements.extend(classify(&std::mem::take(&mut current))),
        }
    }
    statements.extend(classify(&current));
    statements
}

fn classify(words: &[String]) -> Option<Statement> {
    Some(match words.first()?.as_str() {
        "BEGIN" | "START" => Statement::Begin,
        "COMMIT" | "END" => Statement::Commit,
        "ROLLBACK" if words.iter().any(|word| word == "TO") => Statement::Control,
        "ROLLBACK" | "ABORT" => Statement::Rollback,
        "SET" | "SAVEPOINT" | "RELEASE" => Statement::Control,
        "CREATE" | "ALTER" | "DROP" | "TRUNCATE" => Statement::Write,
        _ if (0..words.len()).any(|place| writes(words, place)) => Statement::Write,
        _ => Statement::Other,
    })
}

/// Whether the word at this place makes the statement a write.
fn writes(words: &[String], place: usize) -> bool {
    // FOR UPDATE and FOR NO KEY UPDATE lock rows, and write none.
    let locks = || place > 0 && matches!(words[place - 1].as_str(), "FOR" | "KEY");
    match words[place].as_str() {
        "INSERT" | "DELETE" | "MERGE" => true,
        "UPDATE" => !locks(),
        _ => false,
    }
}

enum Token {
    /// A word in capitals, outside of quotes.
    Word(String),
    /// The end of a statement.
    End,
}

struct Words<'a> {
    rest: &'a [u8],
    /// How many parentheses are open: a semicolon within them ends no statement.
    depth: u32,
    /// Whether the last thing was a point, so that a word is a name.
    qualified: bool,
}

impl Words<'_> {
    fn next_token(&mut self) -> Option<Token> {
        while let Some(&first) = self.rest.first() {
            let qualified = std::mem::take(&mut self.qualified);
            match first {
                b'-' if self.rest.starts_with(b"--") => self.skip_past(b"\n"),
                b'/' if self.rest.starts_with(b"/*") => self.skip_comment(),
                b'\'' => self.skip_quoted(b'\'', false),
                b'"' => self.skip_quoted(b'"', false),
                b'$' => self.skip_dollar(),
                b'E' | b'e' if self.rest.get(1) == Some(&b'\'') => {
                    self.skip(1);
                    self.skip_quoted(b'\'', true);
                }
                _ if is_letter(first) => {
                    let word = self.word();
                    if !qualified {
                        return Some(Token::Word(word));
                    }
                }
                b';' if self.depth == 0 => {
                    self.skip(1);
                    return Some(Token::End);
                }
                _ => {
                    match first {
                        b'(' => self.depth += 1,
                        b')' => self.depth = self.depth.saturating_sub(1),
                        b'.' => self.qualified = true,
                        _ => {}
                    }
                    self.skip(1);
                }
            }
        }
        None
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn skip_past(&mut self, end: &[u8]) {
        let found = self.rest.windows(end.len()).position(|window| window == end);
        self.skip(found.map_or(self.rest.len(), |start| start + end.len()));
    }

    fn word(&mut self) -> String {
        let is_inner = |byte: &u8| is_letter(*byte) || byte.is_ascii_digit() || *byte == b'$';
        let length = self.rest.iter().take_while(|byte| is_inner(byte)).count();
        let word = String::from_utf8_lossy(&self.rest[..length]).to_ascii_uppercase();
        self.skip(length);
        word
    }

    /// Skips a literal or a quoted name. A doubled quote in it is two such, side by side.
    fn skip_quoted(&mut self, quote: u8, backslash_escapes: bool) {
        self.skip(1);
        while let Some(&byte) = self.rest.first() {
            self.skip(if backslash_escapes && byte == b'\\' { 2 } else { 1 });
            if byte == quote {
                // In an escape string the second half of a doubled quote goes on as one.
                if backslash_escapes && self.rest.first() == Some(&quote) {
                    self.skip(1);
                    continue;
                }
                return;
            }
        }
    }

    /// Skips `$tag$ … $tag$`, or the sign of an argument.
    fn skip_dollar(&mut self) {
        let tag =
            self.rest[1..].iter().take_while(|byte| is_letter(**byte) || byte.is_ascii_digit());
        let length = tag.count() + 2;
        let is_quote = self.rest.get(length - 1) == Some(&b'$')
            && !self.rest.get(1).is_some_and(u8::is_ascii_digit);
        if is_quote {
            let delimiter = self.rest[..length].to_vec();
            self.skip(length);
            self.skip_past(&delimiter);
        } else {
            self.skip(1);
        }
    }

    /// Skips a comment, with comments in it.
    fn skip_comment(&mut self) {
        let mut depth = 0;
        while !self.rest.is_empty() {
            if self.rest.starts_with(b"/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest.starts_with(b"*/") {
                depth -= 1;
                self.skip(2);
                if depth == 0 {
                    return;
                }
            } else {
                self.skip(1);
            }
        }
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::Statement::{Begin, Commit, Control, Other, Rollback, Write};
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_words() {
        let cases = [
            ("BEGIN", Begin),
            ("start transaction", Begin),
            ("  /* so */ commit", Commit),
            ("END", Commit),
            ("ROLLBACK", Rollback),
            ("ROLLBACK TO SAVEPOINT a", Control),
            ("SET lock_timeout = 1", Control),
            ("INSERT INTO t VALUES (1)", Write),
            ("WITH head AS (UPDATE t SET a = 1 RETURNING a) SELECT a FROM head", Write),
            ("with gone as (delete from t) select", Write),
            ("SELECT a FROM t FOR UPDATE", Other),
            ("SELECT FROM sessions WHERE session = $1 FOR NO KEY UPDATE", Other),
            ("SELECT 'DELETE FROM t; COMMIT'", Other),
            ("SELECT 'it''s', 'UPDATE'", Other),
            ("SELECT E'\\'; DELETE', 'x'", Other),
            ("SELECT E'a''b\\\\', \"DELETE\" FROM t", Other),
            ("SELECT $$DELETE$$, $x$ $$ UPDATE $x$", Other),
            ("SELECT t.update, s.delete FROM t", Other),
            ("SELECT 1 -- DELETE\n FROM t", Other),
            ("SELECT /* a /* DELETE */ INSERT */ 1", Other),
            ("SELECT updated, deleted_at FROM t", Other),
            ("CREATE TABLE t ()", Write),
        ];
        for (sql, expected) in cases {
            assert_eq!(statements(sql), [expected], "{sql}");
        }
    }

    #[test]
    fn a_text_can_hold_several_statements_or_none() {
        assert_eq!(
            statements("BEGIN; SELECT 1; UPDATE t SET a = ';'; COMMIT;"),
            [Begin, Other, Write, Commit]
        );
        for nothing in ["", " ; ;", "/* ping */", "-- no"] {
            assert_eq!(statements(nothing), [], "{nothing:?}");
        }
    }

    #[test]
    fn what_never_ends_is_read_to_its_end() {
        for sql in ["SELECT '", "SELECT \"", "SELECT $$", "SELECT /*", "SELECT E'\\", "SELECT $"] {
            assert_eq!(statements(sql), [Other], "{sql}");
        }
    }
}

//! Passwords in the arguments, and how to show the arguments without them.

use url::Url;

/// This process's program and arguments, as they may be shown and written.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|argument| shown(&argument.to_string_lossy())).collect()
}

/// An argument, which may be `--url=URL`.
fn shown(argument: &str) -> String {
    match argument.split_once('=') {
        Some((option @ "--url", url)) => format!("{option}={}", without_password(url)),
        _ => without_password(argument),
    }
}

/// The text, and if it is a URL with a password in it, that URL without.
pub fn without_password(text: &str) -> String {
    if !text.contains("://") {
        return text.to_owned();
    }
    let Ok(mut url) = Url::parse(text) else {
        // It may be nearly a URL, with a password somewhere in it.
        let scheme = text.split("://").next().unwrap_or_default();
        return format!("{scheme}://…");
    };
    let is_password = |name: &str| name == "password";
    if url.password().is_none() && !url.query_pairs().any(|(name, _)| is_password(&name)) {
        return text.to_owned();
    }
    // A URL that cannot have a password has none.
    let _ = url.set_password(None);
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !is_password(name))
        .map(|(n, v)| (n.into(), v.into()))
        .collect();
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_taken_out_wherever_it_stands() {
        let cases = [
            ("postgres://u:hush@h:5/d", "postgres://u@h:5/d"),
            ("--url=postgres://u:hush@h/d", "--url=postgres://u@h/d"),
            ("postgres://u@h/d?password=hush", "postgres://u@h/d"),
            ("postgres://u@h/d?a=1&password=hush&b=2", "postgres://u@h/d?a=1&b=2"),
            ("postgres://u:hush@h:port/d", "postgres://…"),
            ("--url=postgres://u:hush@[", "--url=postgres://…"),
            ("postgres://u:hush@%2Ftmp%2Fa/d", "postgres://u@%2Ftmp%2Fa/d"),
        ];
        for (argument, expected) in cases {
            assert_eq!(shown(argument), expected);
        }
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for argument in ["run", "--seed=7", "--out", "a/b=c", "postgres://u@h/d?sslmode=disable"] {
            assert_eq!(shown(argument), argument);
        }
    }
}

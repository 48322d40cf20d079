//! Panics: of a store, which the lanes turn into violations, and of stagefault itself.
//!
//! A store that panics may do so thousands of times while its schedule is shrunk, so the
//! panic's usual message is kept for who asks for it with `-v`.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use crate::error::CommandError;

/// The last panic, for the case that nobody catches it.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Does the work; a panic that comes out of it is an error like any other.
///
/// # Errors
/// The work's, or [`CommandError::Panicked`].
pub fn caught<T>(work: impl FnOnce() -> Result<T, CommandError>) -> Result<T, CommandError> {
    panic::set_hook(Box::new(|panic| {
        let text = panic.to_string().replace('\n', " ");
        tracing::info!("{text}");
        *LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(text);
    }));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        Err(CommandError::Panicked(last.unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_that_nobody_catches_is_an_error_of_one_line() {
        let outcome = caught(|| -> Result<(), CommandError> { panic!("two\nlines") });
        drop(panic::take_hook());
        let text = outcome.expect_err("it panicked").to_string();
        assert!(
            text.starts_with("stagefault has a bug: panicked at nightly/src/panics.rs"),
            "{text}"
        );
        assert!(text.contains("two lines") && !text.contains('\n'), "{text}");
    }
}

//! How far a long piece of work is: a bar on a terminal, a line now and then elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::print;

/// Shows on standard error how far a piece of work is.
pub struct Progress {
    /// Hidden where standard error is no terminal.
    bar: ProgressBar,
    shown: Instant,
}

/// How often the bar moves.
const BAR_EVERY: Duration = Duration::from_millis(100);

/// How often a line is written where there is no bar.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Progress {
    /// Begins to show the progress of work whose end is known.
    pub fn of(length: u64) -> Self {
        let bar = ProgressBar::new(length);
        Progress::shown_as(bar, "[{bar:24}] {percent:>3}%  {elapsed_precise}  {msg}")
    }

    /// Begins to show the progress of work that ends when it ends.
    pub fn open_ended() -> Self {
        Progress::shown_as(ProgressBar::no_length(), "{spinner} {elapsed_precise}  {msg}")
    }

    fn shown_as(bar: ProgressBar, template: &str) -> Self {
        // Without colours, so that there is nothing for NO_COLOR to take away.
        let style = ProgressStyle::with_template(template).expect("the templates above are right");
        bar.set_style(style.progress_chars("=> "));
        if tracing::enabled!(tracing::Level::INFO) {
            // Lines of a log and a bar would write over each other.
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        Progress { bar, shown: Instant::now() }
    }

    /// Shows where the work is, unless that was done a moment ago.
    pub fn show(&mut self, position: u64, message: impl FnOnce() -> String) {
        let every = if self.bar.is_hidden() { LINE_EVERY } else { BAR_EVERY };
        if self.shown.elapsed() < every {
            return;
        }
        self.shown = Instant::now();
        if self.bar.is_hidden() {
            print::note(message());
        } else {
            self.bar.set_position(position);
            self.bar.set_message(message());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

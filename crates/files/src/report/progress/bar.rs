use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::prelude::*;

/// A shorter run needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows the progress on standard error, if that is an interactive terminal. The bar disappears at the end.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// The start of the wait without a bar. `None` if there is a bar, or no terminal.
    since: Option<Instant>,
}

impl Progress {
    /// Starts a bar whose number of steps is set later. No pipeline has a bar, not even one with a terminal.
    pub fn new(doing: &str) -> Self {
        Progress::with(&format!("{doing} {{bar:40}} {{percent}}%"))
    }

    /// Shows the number of rendered charts and kustomizations. Call the result once for each, with the number of all.
    pub fn rendering() -> impl FnMut(usize) {
        let mut progress = Progress::with("rendering {bar:40} {pos} of {len}");
        move |all| {
            progress.set_steps(all);
            progress.advance();
        }
    }

    /// Starts a spinner for reading an unknown number of objects.
    pub fn reading() -> Self {
        let progress = Progress::with("{spinner} {human_pos} objects read; now {wide_msg}");
        progress.says("waiting for the API server".to_owned());
        progress
    }

    fn with(template: &str) -> Self {
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_watched = io::stderr().is_terminal() && env::var_os("CI").is_none() && !is_dumb;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            // The characters also suit terminals without Unicode. The last one is shown at the end.
            bar.set_style(style.tick_chars("|/-\\ "));
        }
        Progress { bar, since: is_watched.then(Instant::now) }
    }

    /// Sets the number of steps.
    pub fn set_steps(&self, steps: usize) {
        self.bar.set_length(steps as u64);
    }

    /// Shows the current work.
    pub fn says(&self, doing: String) {
        self.bar.set_message(doing);
    }

    /// Advances by one step.
    pub fn advance(&mut self) {
        self.advance_by(1);
    }

    /// Advances by this number of steps.
    pub fn advance_by(&mut self, steps: usize) {
        self.appear();
        self.bar.inc(steps as u64);
    }

    /// Shows that work is still going on.
    pub fn tick(&mut self) {
        if !self.bar.is_finished() {
            self.appear();
            self.bar.tick();
        }
    }

    fn appear(&mut self) {
        if self.since.take_if(|since| since.elapsed() > PATIENCE).is_some() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints while the bar is out of the way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

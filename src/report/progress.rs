//! A bar for people who wait.

#![expect(clippy::disallowed_methods, reason = "how long somebody has waited is measured here")]

use std::{
    env,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Nobody needs a bar before.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows how much is done on standard error, if that is a terminal with somebody before it. It is
/// gone at the end.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Since when somebody has waited without a bar. `None` if there is one, or nobody.
    since: Option<Instant>,
}

impl Progress {
    /// Begins to wait while this is done, in a number of steps that is set later. No pipeline has a
    /// bar, not even one with a terminal.
    pub(crate) fn new(doing: &str) -> Self {
        Progress::with(&format!("{doing} {{bar:40}} {{percent}}%"))
    }

    /// Begins to wait while objects are read, of which nobody knows how many there are.
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "only an audit has it"))]
    pub(crate) fn reading() -> Self {
        let progress = Progress::with("{spinner} {human_pos} objects read; now {wide_msg}");
        progress.says("waiting for the API server".to_owned());
        progress
    }

    fn with(template: &str) -> Self {
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_watched = io::stderr().is_terminal() && env::var_os("CI").is_none() && !is_dumb;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            // For terminals without Unicode too. The last one is shown at the end.
            bar.set_style(style.tick_chars("|/-\\ "));
        }
        Progress { bar, since: is_watched.then(Instant::now) }
    }

    /// Sets how many steps there are.
    pub(crate) fn set_steps(&self, steps: usize) {
        self.bar.set_length(steps as u64);
    }

    /// Says what is done now.
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "only an audit has it"))]
    pub(crate) fn says(&self, doing: String) {
        self.bar.set_message(doing);
    }

    /// One more step is done.
    pub(crate) fn advance(&mut self) {
        self.advance_by(1);
    }

    /// So many more steps are done.
    pub(crate) fn advance_by(&mut self, steps: usize) {
        self.appear();
        self.bar.inc(steps as u64);
    }

    /// Shows that something is still going on.
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "only an audit has it"))]
    pub(crate) fn tick(&mut self) {
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
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Does something that may print, with the bar out of the way.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

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
    /// Begins to wait while this is done. No pipeline has a bar, not even one with a terminal.
    pub(crate) fn new(doing: &str) -> Self {
        let is_watched = io::stderr().is_terminal() && env::var_os("CI").is_none();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(&format!("{doing} {{bar:40}} {{percent}}%"))
        {
            bar.set_style(style);
        }
        Progress { bar, since: is_watched.then(Instant::now) }
    }

    /// Sets how many steps there are.
    pub(crate) fn set_steps(&self, steps: usize) {
        self.bar.set_length(steps as u64);
    }

    /// Adds steps to those that there are.
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "only an audit has it"))]
    pub(crate) fn add_steps(&self, steps: usize) {
        self.bar.inc_length(steps as u64);
    }

    /// One more step is done.
    pub(crate) fn advance(&mut self) {
        self.advance_by(1);
    }

    /// So many more steps are done.
    pub(crate) fn advance_by(&mut self, steps: usize) {
        if self.since.take_if(|since| since.elapsed() > PATIENCE).is_some() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(steps as u64);
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

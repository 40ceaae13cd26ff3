//! No progress bar for WebAssembly: it has neither a terminal nor a clock.

/// A bar that is never shown.
#[derive(Debug)]
pub struct Progress;

impl Progress {
    /// Returns the bar.
    pub const fn new(_: &str) -> Self {
        Progress
    }

    /// Returns a function that does nothing.
    pub fn rendering() -> impl FnMut(usize) {
        |_| {}
    }

    /// Does nothing.
    pub const fn set_steps(&self, _: usize) {}

    /// Does nothing.
    pub const fn advance(&mut self) {}

    /// Prints.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        print()
    }
}

// The owner of a bar ends it by dropping it.
impl Drop for Progress {
    fn drop(&mut self) {}
}

//! The exit codes of the process. They are part of the interface.

use std::process::ExitCode;

/// The exit status. If there are two, the later one in this list counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: success; in `check`, nothing would be denied.
    #[default]
    Clean,
    /// 1: at least one object would be denied.
    Denied,
    /// 2: wrong usage or configuration, or unreadable input. Outranks a denial, because not everything was checked.
    Error,
    /// 3: only `wait`, on a timeout.
    TimedOut,
}

impl Exit {
    /// Returns the more severe of the two.
    #[must_use]
    pub fn and(self, other: Exit) -> Exit {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Clean => 0,
            Exit::Denied => 1,
            Exit::Error => 2,
            Exit::TimedOut => 3,
        })
    }
}

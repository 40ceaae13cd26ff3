//! The API server's time, as far as it is known.

use std::time::{Instant, SystemTime};

use super::time::Time;

/// Remembers what time it was for the API server, which is who verifies certificates.
///
/// While it is away there are two guesses. The system's clock may be set to anything; the time since
/// the last answer is measured by one that nobody sets, but that stands still while the machine is
/// suspended.
#[derive(Debug)]
pub(crate) struct Clock {
    server: Time,
    wall: Time,
    at: Instant,
}

impl Clock {
    /// Believes the system's clock.
    pub(crate) fn new() -> Self {
        Clock { server: wall(), wall: wall(), at: Instant::now() }
    }

    /// Notes what time the API server says it is.
    pub(crate) fn set(&mut self, server: Time) {
        *self = Clock { server, ..Clock::new() };
    }

    fn guesses(&self) -> [Time; 2] {
        let measured = Time::try_from(self.at.elapsed().as_secs()).unwrap_or_default();
        [self.server + measured, self.server + (wall() - self.wall)]
    }

    /// The later guess: for renewing, too early does no harm.
    pub(crate) fn latest(&self) -> Time {
        let [one, other] = self.guesses();
        one.max(other)
    }

    /// The earlier guess: for what may have expired.
    pub(crate) fn earliest(&self) -> Time {
        let [one, other] = self.guesses();
        one.min(other)
    }
}

fn wall() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::try_from(since.as_secs()).unwrap_or_default()
}

use std::time::Instant;

use crate::server::prelude::*;
use crate::server::tls::{authority::seconds, self_signed::since_1970};

/// Estimates the API server's time, because the API server verifies the certificates.
///
/// While the API server cannot be reached, two clocks measure the time since its last response. The system clock may be
/// set to any time. The monotonic clock cannot be set, but stops while the machine is suspended.
#[derive(Debug)]
pub(crate) struct Clock {
    server: Time,
    wall: Time,
    at: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Clock { server: wall(), wall: wall(), at: Instant::now() }
    }

    pub(crate) fn set(&mut self, server: Time) {
        *self = Clock { server, ..Clock::new() };
    }

    fn guesses(&self) -> [Time; 2] {
        let measured = seconds(self.at.elapsed());
        [self.server + measured, self.server + (wall() - self.wall)]
    }

    /// Returns the later estimate, for renewals: too early does no harm.
    pub(crate) fn latest(&self) -> Time {
        let [one, other] = self.guesses();
        one.max(other)
    }

    /// Returns the earlier estimate, for checks whether something has expired.
    pub(crate) fn earliest(&self) -> Time {
        let [one, other] = self.guesses();
        one.min(other)
    }
}

fn wall() -> Time {
    since_1970(SystemTime::now())
}

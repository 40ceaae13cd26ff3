//! The timeouts and intervals of the view.

use std::time::Duration;

use super::backoff::Backoff;

/// All times of the view.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// The duration of a watch. The API server ends it, in whole seconds.
    pub(super) watch: Duration,
    /// The time after which a watch that was not ended is dead: the other end is gone.
    pub(super) dead: Duration,
    /// The time limit for one call, and for a page of a list.
    pub(super) call: Duration,
    /// The time limit for a streaming list.
    pub(super) list: Duration,
    /// The longest silence of a streaming list before it is complete.
    pub(super) bookmark: Duration,
    /// The duration of the first watch after a break: the API server sends a bookmark before it
    /// ends.
    pub(super) probe: Duration,
    /// The time after which such a watch that was not ended is dead.
    pub(super) probe_dead: Duration,
    /// The time for which lists are requested in pages after a streaming list failed.
    pub(super) pages: Duration,
    /// The time without any known kind after which the log reports it.
    pub(super) blind: Duration,
    /// The time without a sign of life after which the view of a kind is stale.
    pub(super) stale: Duration,
    /// The time without a sign of life after which the view of a kind is worthless.
    pub(super) unknown: Duration,
    /// The pause before the next attempt to read a kind that the API server forbids.
    pub(super) forbidden: Duration,
    /// The longest random delay at the start, so that replicas do not all list at once.
    pub(super) jitter: Duration,
    /// The interval between two requests for the release.
    pub(super) release: Duration,
    shortest_pause: Duration,
    longest_pause: Duration,
}

impl Times {
    /// Returns the usual times, divided by a number.
    pub(super) fn divided_by(divisor: u32) -> Self {
        let divisor = divisor.max(1);
        let seconds = |seconds| Duration::from_secs(seconds) / divisor;
        Times {
            watch: seconds(60),
            dead: seconds(65),
            call: seconds(30).max(Duration::from_secs(2)),
            list: seconds(280),
            bookmark: seconds(30),
            probe: seconds(5),
            probe_dead: seconds(10).max(Duration::from_secs(2)),
            pages: seconds(3600),
            blind: seconds(90),
            stale: seconds(90),
            unknown: seconds(600),
            forbidden: seconds(600),
            jitter: seconds(5),
            release: seconds(30),
            shortest_pause: Duration::from_millis(800) / divisor,
            longest_pause: seconds(30),
        }
    }

    /// Returns the times of a command, which somebody waits for.
    pub(crate) fn of_commands() -> Self {
        let seconds = Duration::from_secs;
        Times {
            watch: seconds(30),
            // An overloaded machine ends a watch late.
            dead: seconds(45),
            forbidden: seconds(60),
            jitter: Duration::ZERO,
            shortest_pause: Duration::from_millis(500),
            longest_pause: seconds(5),
            ..Times::divided_by(1)
        }
    }

    /// Returns the pauses between attempts.
    pub(super) fn backoff(&self) -> Backoff {
        Backoff::new(self.shortest_pause, self.longest_pause)
    }
}

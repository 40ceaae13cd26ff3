//! How long the view waits for what.

use std::time::Duration;

use super::backoff::Backoff;

/// All times of the view.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// How long a watch lasts. The API server ends it, in whole seconds.
    pub(super) watch: Duration,
    /// After this time a watch that was not ended is dead: nobody is there any more.
    pub(super) dead: Duration,
    /// How long one call may take, and a page of a list.
    pub(super) call: Duration,
    /// How long a streaming list may take.
    pub(super) list: Duration,
    /// How long it may be silent before it is complete.
    pub(super) bookmark: Duration,
    /// How long the first watch after a break lasts: the API server sends a bookmark before it ends.
    pub(super) probe: Duration,
    /// After this time such a watch that was not ended is dead.
    pub(super) probe_dead: Duration,
    /// How long lists are asked for in pages after a streaming list failed.
    pub(super) pages: Duration,
    /// How long nothing at all is known before the log says so.
    pub(super) blind: Duration,
    /// Without a sign of life for this long, the view of a kind is stale.
    pub(super) stale: Duration,
    /// Without a sign of life for this long, the view of a kind is worth nothing.
    pub(super) unknown: Duration,
    /// The pause before a kind is tried again that the API server forbids.
    pub(super) forbidden: Duration,
    /// The longest random delay at the start, so that replicas do not all list at once.
    pub(super) jitter: Duration,
    /// How often the release is asked for.
    pub(super) release: Duration,
    shortest_pause: Duration,
    longest_pause: Duration,
}

impl Times {
    /// The usual times, divided by a number.
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
            release: seconds(600),
            shortest_pause: Duration::from_millis(800) / divisor,
            longest_pause: seconds(30),
        }
    }

    /// The pauses between attempts.
    pub(super) fn backoff(&self) -> Backoff {
        Backoff::new(self.shortest_pause, self.longest_pause)
    }
}

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
};

use crate::prelude::*;

#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// How long a watch lasts. The API server ends it, in whole seconds.
    pub(super) watch: Duration,
    /// When a watch that has not ended counts as dead.
    pub(super) dead: Duration,
    /// The time limit for a call, and for a page of a list.
    pub(super) call: Duration,
    pub(super) list: Duration,
    /// The longest silence of a streaming list before it is complete.
    pub(super) bookmark: Duration,
    /// How long the first watch after an interruption lasts: the API server sends a bookmark before it ends.
    pub(super) probe: Duration,
    /// When such a watch that has not ended counts as dead.
    pub(super) probe_dead: Duration,
    /// How long lists are requested in pages after a streaming list failed.
    pub(super) pages: Duration,
    pub(super) blind: Duration,
    pub(super) stale: Duration,
    pub(super) unknown: Duration,
    /// The pause before reading a forbidden kind again.
    pub(super) forbidden: Duration,
    /// The longest random delay at the start, so that replicas do not list all at once.
    pub(super) jitter: Duration,
    pub(super) release: Duration,
    shortest_pause: Duration,
    longest_pause: Duration,
}

impl Times {
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

    /// Returns the times for a command, where a user waits.
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

    pub(super) fn backoff(&self) -> Backoff {
        Backoff::new(self.shortest_pause, self.longest_pause)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Backoff {
    pub(super) shortest: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub(super) const fn new(shortest: Duration, longest: Duration) -> Self {
        Backoff { shortest, longest, next: shortest }
    }

    /// Returns the next pause. A quarter of it is random, so that replicas do not retry all at once.
    pub(super) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (self.next * 2).min(self.longest);
        pause * 3 / 4 + chance(pause / 4)
    }

    pub(super) fn reset(&mut self) {
        self.next = self.shortest;
    }
}

/// Returns a random duration up to `longest`. The standard library seeds its hash maps randomly.
pub(super) fn chance(longest: Duration) -> Duration {
    let millis = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
    let random = RandomState::new().build_hasher().finish();
    Duration::from_millis(random % millis.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_millis(800), Duration::from_secs(3));
        for most in [800, 1600, 3000, 3000] {
            let pause = backoff.pause().as_millis();
            assert!((most * 3 / 4..=most).contains(&pause), "{pause} of {most}");
        }
        backoff.reset();
        assert!(backoff.pause() <= Duration::from_millis(800));
    }
}

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    time::Duration,
};

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

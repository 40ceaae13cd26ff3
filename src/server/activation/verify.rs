//! Verifies from time to time that the API servers still call setguard through the armed webhooks.
//!
//! A firewall may close, a new API server may not reach the pods, or one may restart without the admission plugin.
//! Nothing else notices that where `failurePolicy` is `Ignore`, or where an API server calls no webhooks at all.

use super::{
    Target,
    dry_run_probe::{self, PAUSE, REHEARSALS},
    problem::Problem,
    why::{PATIENCE, Silent},
};
use crate::server::prelude::*;

/// The number of check intervals between two verifications.
const INTERVALS: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct Verification {
    /// `None` before the first verification.
    next: Option<Instant>,
    /// Whether the last verification failed. A single failure may come from a new API server or a rollout of setguard.
    is_in_doubt: bool,
    /// Why it failed twice in a row.
    why: Option<String>,
}

impl Verification {
    pub(super) fn wait(&self) -> Duration {
        self.next.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }

    /// If it is time, makes the API servers call setguard several times: servers behind one address take turns. Returns
    /// whether a call is missing for the second time in a row.
    pub(super) async fn verify(
        &mut self,
        target: &Target,
        armed: &[(Configuration, Value)],
        interval: Duration,
    ) -> bool {
        if armed.is_empty() {
            self.next = Some(Instant::now() + interval);
        }
        if !self.wait().is_zero() {
            return false;
        }
        let mut failed = None;
        for _ in 0..REHEARSALS {
            if let Err(problem) = rehearse(target, armed).await {
                failed = Some(problem.to_string());
                break;
            }
            sleep(PAUSE).await;
        }
        self.conclude(failed, interval)
    }

    pub(super) fn problem(&self) -> Option<Problem> {
        self.why.clone().map(Problem::NoLonger)
    }

    /// Returns whether this is the second failure in a row.
    fn conclude(&mut self, failed: Option<String>, interval: Duration) -> bool {
        let was_in_doubt = std::mem::replace(&mut self.is_in_doubt, failed.is_some());
        let after = match (&failed, was_in_doubt) {
            (None, _) => interval * INTERVALS,
            (Some(_), false) => PATIENCE.min(interval),
            (Some(_), true) => interval,
        };
        self.next = Some(Instant::now() + after);
        let is_certain = failed.is_some() && was_in_doubt;
        if failed.is_none() || is_certain {
            self.why = failed;
        }
        is_certain
    }
}

async fn rehearse(target: &Target, armed: &[(Configuration, Value)]) -> Result<(), Problem> {
    let rehearsed = dry_run_probe::rehearse(target).await?;
    let silent = armed.iter().find(|(it, _)| !rehearsed.called.contains(it));
    let Some((configuration, read)) = silent else { return Ok(()) };
    let silent = Silent {
        target,
        configuration: *configuration,
        read,
        object: &rehearsed.object,
        lasts: PATIENCE,
        was_called: false,
        has_rules: true,
    };
    Err(Problem::NotCalled(silent.why().0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_failure_is_a_doubt_and_two_are_certain() {
        let mut it = Verification::default();
        assert!(it.wait().is_zero(), "a replica verifies when it starts");
        let minute = Duration::from_secs(60);
        let mut conclude = |failed: Option<&str>| {
            let is_certain = it.conclude(failed.map(str::to_owned), minute);
            (is_certain, it.why.clone(), it.wait())
        };
        assert_eq!(conclude(None), (false, None, 5 * minute));
        assert_eq!(conclude(Some("no")), (false, None, PATIENCE));
        assert_eq!(conclude(None), (false, None, 5 * minute));
        assert_eq!(conclude(Some("no")), (false, None, PATIENCE));
        assert_eq!(conclude(Some("no")), (true, Some("no".to_owned()), minute));
        assert_eq!(conclude(Some("out")), (true, Some("out".to_owned()), minute));
        assert_eq!(conclude(None), (false, None, 5 * minute));
    }
}

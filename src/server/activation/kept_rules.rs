//! Follows the configurations change by change.
//!
//! A client may take the rules away again and again, and setguard writes them back each time; a different tool may
//! restore other fields. Periodic checks would find nothing.

use setguard_cluster::live::registered::{Compared, as_written, compare};

use crate::server::metrics::armed::Armed;
use crate::server::prelude::*;

#[derive(Debug)]
pub(super) struct KeptRules {
    metrics: Armed,
    /// How long the last read of a configuration counts as current.
    lasts: Duration,
    /// The SHA-256 of each annotation as the chart wrote it; empty if nobody knows.
    annotations: Vec<String>,
    states: Mutex<[State; 2]>,
}

#[derive(Debug, Default)]
struct State {
    version: u64,
    annotation: Option<String>,
    has_rules: bool,
    is_as_written: bool,
    /// How often clients took the rules away.
    losses: u64,
}

impl KeptRules {
    pub(super) fn new(metrics: Armed, lasts: Duration, annotations: Vec<String>) -> Self {
        KeptRules { metrics, lasts, annotations, states: Mutex::default() }
    }

    pub(super) fn compare(&self, read: &Value) -> Result<Compared, String> {
        compare(read, &self.annotations)
    }

    /// Takes versions from a watch, since reads may skip versions.
    pub(super) fn observe(&self, configuration: Configuration, read: &Value, is_deleted: bool) {
        let version = version(read);
        let mut states = self.states.lock();
        let state = &mut states[configuration as usize];
        // A new watch may begin with an old version.
        if version < state.version {
            return;
        }
        if is_deleted {
            state.lost(configuration, false, false, &self.metrics);
            *state = State { version, losses: state.losses, ..State::default() };
            self.set(configuration, false, 0);
            return;
        }
        let compared = self.compare(read);
        let annotation = as_written(read).map(str::to_owned);
        let is_as_written = compared.as_ref().is_ok_and(Compared::is_as_written);
        let has_rules = compared.as_ref().map_or(state.has_rules, Compared::has_rules);
        let is_rewritten =
            state.annotation.is_some() && annotation.is_some() && state.annotation != annotation;
        // An upgrade changes the annotation, and the rules follow.
        if is_rewritten {
            self.metrics.rewritten(configuration);
            tracing::warn!(
                kind = configuration.kind(),
                hint = "an upgrade or rollback of the chart does this. If there was none, somebody may have \
                        weakened the webhooks: helm upgrade, with --force-conflicts in Helm 4, restores the \
                        annotation",
                "the annotation setguard.io/webhooks has changed, and the webhooks follow it"
            );
        } else {
            state.lost(configuration, has_rules, is_as_written, &self.metrics);
        }
        let (annotation, losses) = (annotation.or(state.annotation.take()), state.losses);
        *state = State { version, annotation, has_rules, is_as_written, losses };
        self.compared(configuration, &compared);
    }

    /// Returns the newest version that the watch has shown.
    pub(super) fn shown(&self, configuration: Configuration) -> u64 {
        self.states.lock()[configuration as usize].version
    }

    /// Takes in a read of the newest version. It began when the watch had shown a different one.
    pub(super) fn read(
        &self,
        configuration: Configuration,
        shown: u64,
        read: &Value,
        compared: &Result<Compared, String>,
    ) {
        // etcd was restored from a backup.
        if version(read) < shown {
            self.states.lock()[configuration as usize].version = 0;
            self.observe(configuration, read, false);
        }
        self.compared(configuration, compared);
    }

    /// The watch counts the lost rules: it may not have seen the deletion yet.
    pub(super) fn absent(&self, configuration: Configuration) {
        self.set(configuration, false, 0);
    }

    fn compared(&self, configuration: Configuration, compared: &Result<Compared, String>) {
        let is_as_written = compared.as_ref().is_ok_and(Compared::is_as_written);
        let foreign = compared.as_ref().map_or(1, |it| it.foreign.len());
        self.set(configuration, is_as_written, foreign);
    }

    fn set(&self, configuration: Configuration, is_as_written: bool, foreign: usize) {
        self.metrics.set(configuration, is_as_written, foreign, self.lasts);
    }
}

fn version(read: &Value) -> u64 {
    let version = read["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse().ok());
    version.unwrap_or(u64::MAX)
}

impl State {
    /// Counts a change. Logs a loss of the rules less and less often; [`super::Foreign`] is for other changes.
    fn lost(
        &mut self,
        configuration: Configuration,
        has_rules: bool,
        is_as_written: bool,
        metrics: &Armed,
    ) {
        let lost_rules = self.has_rules && !has_rules;
        if lost_rules || (self.is_as_written && !is_as_written) {
            metrics.disarmed(configuration);
        }
        if !lost_rules {
            return;
        }
        self.losses += 1;
        if self.losses.is_power_of_two() {
            tracing::warn!(
                kind = configuration.kind(),
                times = self.losses,
                hint = "requests are not checked until the rules are back. Is there a tool that \
                        restores or replaces webhook configurations? It has to leave the rules alone, or use \
                        webhook.arm: atOnce",
                "another client has taken the rules away from the webhooks"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;
    use serde_json::json;

    use super::*;
    use setguard_core::object::annotations::WEBHOOKS_ANNOTATION;

    const KIND: Configuration = Configuration::Mutating;

    fn read(version: u64, annotated: &str, rules: &Value) -> Value {
        let wanted = json!([{ "name": "a", "rules": [{ "resources": [annotated] }] }]);
        json!({
            "metadata": {
                "resourceVersion": version.to_string(),
                "annotations": { WEBHOOKS_ANNOTATION: wanted.to_string() },
            },
            "webhooks": [{ "name": "a", "rules": rules }],
        })
    }

    #[test]
    fn rules_that_are_taken_away_are_counted_also_if_they_are_back_at_once() {
        let kept_rules = KeptRules::new(
            Armed::new(&mut Registry::default()),
            Duration::from_mins(1),
            Vec::new(),
        );
        let losses = || kept_rules.states.lock()[KIND as usize].losses;
        let right = |of: &str| json!([{ "resources": [of] }]);
        let see = |version, annotated, rules: &Value| {
            kept_rules.observe(KIND, &read(version, annotated, rules), false);
            losses()
        };
        assert_eq!(see(2, "pods", &json!([])), 0, "they were never there");
        assert_eq!(see(3, "pods", &right("pods")), 0);
        assert_eq!(see(4, "pods", &json!([])), 1);
        assert_eq!(see(5, "pods", &right("pods")), 1);
        assert_eq!(see(4, "pods", &json!([])), 1, "an old version");
        assert_eq!(see(6, "sets", &right("pods")), 1, "an upgrade changes the annotation");
        assert_eq!(see(7, "sets", &right("sets")), 1);
        assert_eq!(see(8, "sets", &right("others")), 2);
        assert_eq!(see(9, "sets", &right("sets")), 2);
        kept_rules.observe(KIND, &read(10, "sets", &right("sets")), true);
        kept_rules.absent(KIND);
        assert_eq!(losses(), 3, "a deletion, once");
    }
}

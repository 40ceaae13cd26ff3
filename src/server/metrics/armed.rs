//! The state of the webhook configurations: as they were written, or not.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder, NoLabelSet},
    metrics::{MetricType, counter::Counter},
    registry::Registry,
};
use tokio::time::Instant;

use crate::server::configuration::Configuration;

/// The state of both configurations. Without `--arm-webhooks` all stays 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Armed {
    states: Arc<Mutex<[State; 2]>>,
    uncalled: Counter,
}

#[derive(Debug, Default)]
struct State {
    is_as_written: bool,
    foreign: usize,
    losses: u64,
    /// The time until which the configuration does not count as armed, since it has just changed.
    doubted: Option<Instant>,
}

/// One of the metrics.
#[derive(Clone, Debug)]
struct Metric {
    of: Armed,
    kind: MetricType,
    value: fn(&State) -> u64,
}

impl Armed {
    /// The time within which API servers use a configuration that has changed.
    const SETTLE: Duration = Duration::from_secs(2);
    /// The rules may be taken away again as soon as they are back, between two scrapes.
    const DOUBT: Duration = Duration::from_secs(60);

    /// Sets whether this configuration exists and is as it was written, and the number of its webhooks that are not.
    pub(crate) fn set(&self, configuration: Configuration, is_as_written: bool, foreign: usize) {
        self.with(configuration, |state| {
            if is_as_written && !state.is_as_written {
                let settled = Instant::now() + Self::SETTLE;
                state.doubted = Some(state.doubted.map_or(settled, |until| until.max(settled)));
            }
            state.is_as_written = is_as_written;
            state.foreign = foreign;
        });
    }

    /// Counts that the rules were taken away.
    pub(crate) fn disarmed(&self, configuration: Configuration) {
        self.with(configuration, |state| {
            state.losses += 1;
            state.doubted = Some(Instant::now() + Self::DOUBT);
        });
    }

    /// Counts a verification in which an API server did not call setguard.
    pub(crate) fn uncalled(&self) {
        self.uncalled.inc();
    }

    fn with<T>(&self, configuration: Configuration, act: impl FnOnce(&mut State) -> T) -> T {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut states[configuration as usize])
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        let metric = |kind, value| Metric { of: self.clone(), kind, value };
        registry.register(
            "webhooks_armed",
            "With --arm-webhooks: 1 if this webhook configuration exists, each of its webhooks is as it was \
             written, with its rules, and nobody has taken the rules away in the last minute, 0 otherwise",
            metric(MetricType::Gauge, |state| {
                let is_doubted = state.doubted.is_some_and(|until| Instant::now() < until);
                u64::from(state.is_as_written && !is_doubted)
            }),
        );
        registry.register(
            "webhooks_foreign",
            "With --arm-webhooks: the webhooks of this configuration that another client has changed, removed or \
             added; setguard writes back rules only",
            metric(MetricType::Gauge, |state| state.foreign as u64),
        );
        registry.register(
            "webhooks_disarmed",
            "With --arm-webhooks: how often another client has taken the rules of this configuration away; \
             setguard writes them back",
            metric(MetricType::Counter, |state| state.losses),
        );
        registry.register(
            "webhooks_uncalled",
            "With --arm-webhooks: verifications in which an API server did not call setguard, although \
             the webhooks had their rules",
            self.uncalled.clone(),
        );
    }
}

impl EncodeMetric for Metric {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for configuration in Configuration::ALL {
            let value = self.of.with(configuration, |state| (self.value)(state));
            let labels = [("kind", configuration.kind())];
            let mut encoder = encoder.encode_family(&labels)?;
            if let MetricType::Counter = self.kind {
                encoder.encode_counter::<NoLabelSet, u64, u64>(&value, None)?;
            } else {
                encoder.encode_gauge(&value)?;
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        self.kind
    }
}

//! The state of the webhook configurations: armed or not.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder},
    metrics::{MetricType, counter::Counter},
    registry::Registry,
};

use crate::server::configuration::Configuration;

/// The state of both configurations. Without `--arm-webhooks` all stays 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Armed {
    flags: Flags,
    uncalled: Counter,
}

/// One flag for each webhook configuration.
#[derive(Clone, Debug, Default)]
struct Flags(Arc<[AtomicBool; 2]>);

impl Armed {
    /// Sets whether this configuration exists and has all its rules.
    pub(crate) fn set(&self, configuration: Configuration, armed: bool) {
        self.flags.0[configuration as usize].store(armed, SeqCst);
    }

    /// Counts a verification in which an API server did not call setguard.
    pub(crate) fn uncalled(&self) {
        self.uncalled.inc();
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "webhooks_armed",
            "With --arm-webhooks: 1 if this webhook configuration exists and each of its webhooks has \
             its rules, 0 otherwise",
            self.flags.clone(),
        );
        registry.register(
            "webhooks_uncalled",
            "With --arm-webhooks: verifications in which an API server did not call setguard, although \
             the webhooks had their rules",
            self.uncalled.clone(),
        );
    }
}

impl EncodeMetric for Flags {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for configuration in Configuration::ALL {
            let armed = u64::from(self.0[configuration as usize].load(SeqCst));
            let labels = [("kind", configuration.kind())];
            encoder.encode_family(&labels)?.encode_gauge(&armed)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

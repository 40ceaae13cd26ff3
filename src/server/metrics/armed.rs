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
    metrics::MetricType,
    registry::Registry,
};

use crate::server::configuration::Configuration;

/// One flag for each webhook configuration. Without `--arm-webhooks` they stay 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Armed(Arc<[AtomicBool; 2]>);

impl Armed {
    /// Sets whether this configuration exists and has all its rules.
    pub(crate) fn set(&self, configuration: Configuration, armed: bool) {
        self.0[configuration as usize].store(armed, SeqCst);
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "webhooks_armed",
            "With --arm-webhooks: 1 if this webhook configuration exists and each of its webhooks has \
             its rules, 0 otherwise",
            self.clone(),
        );
    }
}

impl EncodeMetric for Armed {
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

//! Metrics of the view of the cluster, computed at each scrape.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder},
    metrics::MetricType,
};

use crate::{
    kubernetes::cluster::Version,
    live::{KindState, Live, Release},
    policy::Policy,
};

/// A number for each kind of the view. Kinds with the value `None` are left out.
#[derive(Debug)]
pub(crate) struct OfKinds {
    pub(crate) live: Arc<Live>,
    pub(crate) number: fn(&KindState) -> Option<u64>,
}

impl EncodeMetric for OfKinds {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for state in self.live.kinds() {
            if let Some(number) = (self.number)(&state) {
                let labels = [("kind", state.kind.as_str())];
                encoder.encode_family(&labels)?.encode_gauge(&number)?;
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// The memory of the view.
#[derive(Debug)]
pub(crate) struct Bytes(pub(crate) Arc<Live>);

impl EncodeMetric for Bytes {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&u64::try_from(self.0.bytes()).unwrap_or(u64::MAX))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// The source of the release that objects are checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ReleaseSource {
    /// No source: the newest release that setguard knows applies.
    Default,
    /// The policy file or a flag.
    Policy,
    /// The API server.
    Cluster,
}

impl ReleaseSource {
    const ALL: [ReleaseSource; 3] =
        [ReleaseSource::Default, ReleaseSource::Policy, ReleaseSource::Cluster];

    /// Returns the source of the release for this policy.
    pub(crate) const fn of(policy: &Policy, release: Option<&Release>) -> Self {
        match release {
            _ if policy.names_release => ReleaseSource::Policy,
            Some(_) => ReleaseSource::Cluster,
            None => ReleaseSource::Default,
        }
    }

    /// Returns the value of the label.
    pub const fn as_str(self) -> &'static str {
        match self {
            ReleaseSource::Default => "default",
            ReleaseSource::Policy => "policy",
            ReleaseSource::Cluster => "cluster",
        }
    }
}

/// The release that objects are checked against, and its source, in one number.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReleaseInForce(Arc<AtomicU64>);

impl ReleaseInForce {
    /// Sets both. Returns whether the value changed.
    pub(crate) fn set(&self, version: Version, source: ReleaseSource) -> bool {
        let patch = version.patch().map_or(0, |patch| u64::from(patch) + 1);
        let now = u64::from(version.minor()) << 48 | patch << 8 | u64::from(source as u8);
        self.0.swap(now, SeqCst) != now
    }
}

impl EncodeMetric for ReleaseInForce {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let now = self.0.load(SeqCst);
        let [minor, patch, source] = [now >> 48, now >> 8 & 0xff_ffff_ffff, now & 0xff];
        let source = ReleaseSource::ALL.into_iter().find(|it| u64::from(*it as u8) == source);
        let source = source.unwrap_or(ReleaseSource::Default).as_str();
        let release = format!("1.{minor}");
        let patch = patch.checked_sub(1).map(|patch| patch.to_string());
        // An absent label equals an empty one, so the series of other releases stay as they are.
        let mut labels = vec![("release", &*release), ("source", source)];
        labels.extend(patch.as_deref().map(|patch| ("patch", patch)));
        encoder.encode_family(&labels)?.encode_gauge(&1u64)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

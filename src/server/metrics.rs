//! The metrics for Prometheus. Every label has a closed set of values.

pub(crate) mod armed;
mod cells;
mod events;
mod exposition;
mod policy;
mod process;
mod view;

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{counter::Counter, gauge::Gauge, info::Info},
    registry::Registry,
};

use self::armed::Armed;
use self::cells::{Counters, Durations, Label, RESULTS, result};
use self::policy::PolicyState;
use self::process::Process;
use self::view::{Bytes, OfKinds, ReleaseInForce};
pub use self::{
    events::{HandshakeFailure, ManagedEvent},
    exposition::Exposition,
    view::ReleaseSource,
};
use super::telemetry;
use crate::{
    admission::{Endpoint, Record, review::Operation},
    catalogue,
    finding::Mode,
    inventory::view::Freshness,
    kubernetes::cluster::Version,
    live::Live,
};

/// The `kind` label of a request that could not be read.
pub const NO_KIND: &str = "other";

/// All metrics of the server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// The metrics of the process, without the prefix of the others.
    process: Registry,
    requests: Counters<4>,
    durations: Durations<{ ENDPOINTS.len() }>,
    findings: Counters<2>,
    injections: Counters<1>,
    in_flight: Gauge,
    certificate_expiry: Gauge,
    certificate_reloads: Counters<1>,
    /// Whether the policy in force is the content of its file.
    pub(crate) policy: PolicyState,
    handshake_failures: Counters<1>,
    log_lines_dropped: Counter,
    managed: Counters<1>,
    managed_healthy: Gauge,
    authority_expiry: Gauge,
    /// Whether the webhook configurations have their rules.
    pub(crate) armed: Armed,
    release: ReleaseInForce,
}

/// The outcomes of a request: the decision of the answer, or the reason why there was no answer.
const DECISIONS: [&str; 6] = ["allowed", "denied", "patched", "rejected", "fault", "timeout"];
const ENDPOINTS: [Endpoint; 3] =
    [Endpoint::Mutate, Endpoint::MutateControlPlane, Endpoint::Validate];
const OPERATIONS: [Operation; 5] = [
    Operation::Connect,
    Operation::Create,
    Operation::Delete,
    Operation::Unknown,
    Operation::Update,
];

impl Default for Metrics {
    fn default() -> Self {
        let label = |name, values: &[&'static str]| Label { name, values: values.to_vec() };
        let rules: Vec<&'static str> = catalogue::all().iter().map(|rule| rule.meta.id).collect();
        let modes = [Mode::Audit, Mode::Warn, Mode::Deny].map(Mode::as_str);
        let mut metrics = Metrics {
            registry: Registry::with_prefix("setguard"),
            process: Registry::default(),
            requests: Counters::new([
                label("endpoint", &ENDPOINTS.map(Endpoint::path)),
                label("kind", &["DaemonSet", "StatefulSet", "Pod", NO_KIND]),
                label("operation", &OPERATIONS.map(Operation::as_str)),
                label("decision", &DECISIONS),
            ]),
            durations: Durations::new("endpoint", ENDPOINTS.map(Endpoint::path)),
            findings: Counters::new([label("rule", &rules), label("mode", &modes)]),
            injections: Counters::new([label(
                "what",
                &["control-plane-tolerations", "daemon-tolerations", "node-pin"],
            )]),
            in_flight: Gauge::default(),
            certificate_expiry: Gauge::default(),
            certificate_reloads: Counters::new([label("result", &RESULTS)]),
            policy: PolicyState::new(),
            handshake_failures: Counters::new([label(
                "reason",
                &HandshakeFailure::ALL.map(HandshakeFailure::as_str),
            )]),
            log_lines_dropped: Counter::default(),
            managed: Counters::new([label("event", &ManagedEvent::ALL.map(ManagedEvent::as_str))]),
            managed_healthy: Gauge::default(),
            authority_expiry: Gauge::default(),
            armed: Armed::default(),
            release: ReleaseInForce::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    /// prometheus-client adds the final dot of each help text and the `_total` of each counter.
    fn register(&mut self) {
        self.register_requests();
        self.register_files();
        self.register_managed();
        self.armed.register(&mut self.registry);
        self.process.register_collector(Box::new(Process));
        let info = Info::new([
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("newest_kubernetes", Version::NEWEST.to_string()),
        ]);
        self.registry.register("build", "The version that is running", info);
        self.registry.register(
            "kubernetes_release_info",
            "The release of Kubernetes that objects are checked against, and its source: the cluster, \
             the policy (or a flag), or the default",
            self.release.clone(),
        );
    }

    /// Creates all metrics of a server with this view of the cluster.
    pub fn with_view(live: &Arc<Live>) -> Self {
        let mut metrics = Metrics::default();
        if live.is_on() {
            metrics.register_view(live);
        }
        metrics
    }

    fn register_view(&mut self, live: &Arc<Live>) {
        let of_kinds = |number| OfKinds { live: live.clone(), number };
        let registry = &mut self.registry;
        registry.register(
            "inventory_synced",
            "1 if the view has all objects of this kind, 0 if they were not listed, cannot be read, \
             or were not heard of for ten minutes: the rules that need the kind are then silent",
            of_kinds(|it| Some((it.freshness != Freshness::Unknown).into())),
        );
        registry.register(
            "inventory_stale_seconds",
            "Seconds since the API server last confirmed the view of this kind; usually below 60",
            of_kinds(|it| it.silent.map(|silent| silent.as_secs())),
        );
        registry.register(
            "inventory_objects",
            "Objects of this kind in the view",
            of_kinds(|it| u64::try_from(it.objects).ok()),
        );
        registry.register(
            "inventory_bytes",
            "Bytes that the objects of the view take, about",
            Bytes(live.clone()),
        );
    }

    /// Sets the release that objects are checked against. Returns whether the value changed.
    pub(crate) fn set_release(&self, version: Version, source: ReleaseSource) -> bool {
        self.release.set(version, source)
    }

    fn register_requests(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "admission_requests",
            "Admission requests by decision; 'rejected' means a malformed request, 'fault' an \
             internal error, 'timeout' that the review could not start in time",
            self.requests.clone(),
        );
        registry.register(
            "admission_duration_seconds",
            "Time from the head of a request to its answer, including the time to read the body, by endpoint",
            self.durations.clone(),
        );
        registry.register(
            "findings",
            "Findings by rule and by the mode in effect",
            self.findings.clone(),
        );
        registry.register(
            "injections",
            "Injections into pods and pod templates",
            self.injections.clone(),
        );
        registry.register(
            "in_flight_requests",
            "Admission requests in flight",
            self.in_flight.clone(),
        );
        registry.register(
            "tls_handshake_failures",
            "Failed TLS handshakes; 'refused-by-client' means that the webhook configuration's \
             caBundle does not match the certificate",
            self.handshake_failures.clone(),
        );
        registry.register(
            "log_lines_dropped",
            "Lines of the log that were dropped because nothing read the log fast enough",
            self.log_lines_dropped.clone(),
        );
    }

    /// Registers the metrics of files: the certificate and the policy.
    fn register_files(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "certificate_expiry_seconds",
            "Earliest expiry in the chain of the serving certificate, in seconds since 1970; \
             subtract time() to get the seconds left",
            self.certificate_expiry.clone(),
        );
        registry.register(
            "certificate_reloads",
            "Reloads of a changed certificate, key or client CA, by result",
            self.certificate_reloads.clone(),
        );
        self.policy.register(registry);
    }

    /// Registers the metrics of a managed certificate; without one, they stay 0.
    fn register_managed(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "managed_certificate_events",
            "Events of the managed certificate, its CA and the caBundles",
            self.managed.clone(),
        );
        registry.register(
            "managed_certificate_healthy",
            "With --tls-managed: 1 if the last check of the Secret, the caBundles and the webhook \
             port succeeded, 0 otherwise",
            self.managed_healthy.clone(),
        );
        registry.register(
            "managed_authority_expiry_seconds",
            "With --tls-managed: expiry of the newest CA, in seconds since 1970",
            self.authority_expiry.clone(),
        );
    }

    /// Counts an event of the managed certificate.
    pub fn managed(&self, event: ManagedEvent) {
        self.managed.inc([event.as_str()]);
    }

    /// Sets whether the managed certificate is in order.
    pub fn set_managed_healthy(&self, healthy: bool) {
        self.managed_healthy.set(healthy.into());
    }

    /// Sets the expiry of the newest CA, in seconds since 1970.
    pub fn set_authority_expiry(&self, seconds: i64) {
        self.authority_expiry.set(seconds);
    }

    /// Counts a request that was answered.
    pub fn answered(&self, endpoint: Endpoint, record: &Record, took: Duration) {
        let operation = record.operation.as_str();
        let decision = record.decision.as_str();
        self.requests.inc([endpoint.path(), record.kind, operation, decision]);
        self.durations.observe(endpoint.path(), took);
        for (rule, mode) in &record.findings {
            self.findings.inc([rule, mode.as_str()]);
        }
        for what in &record.injected {
            self.injections.inc([what]);
        }
    }

    /// Counts a request that got no answer: `rejected`, `fault` or `timeout`.
    pub fn unanswered(&self, endpoint: Endpoint, decision: &str) {
        self.requests.inc([endpoint.path(), NO_KIND, Operation::Unknown.as_str(), decision]);
    }

    /// Counts a request as in flight until the guard is dropped.
    #[must_use = "the request is in flight until this is dropped"]
    pub fn enter(&self) -> InFlight<'_> {
        self.in_flight.inc();
        InFlight(&self.in_flight)
    }

    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> i64 {
        self.in_flight.get()
    }

    /// Sets the expiry of the certificate, in seconds since 1970.
    pub fn set_certificate_expiry(&self, seconds: i64) {
        self.certificate_expiry.set(seconds);
    }

    /// Counts a reload of the certificate; `taken` is whether it succeeded.
    pub fn certificate_reloaded(&self, taken: bool) {
        self.certificate_reloads.inc([result(taken)]);
    }

    /// Counts a failed handshake.
    pub fn handshake_failed(&self, why: HandshakeFailure) {
        self.handshake_failures.inc([why.as_str()]);
    }

    /// Returns the metrics as OpenMetrics text.
    pub fn encode(&self) -> String {
        // The queue of the log has its own counter.
        let dropped = telemetry::dropped_lines();
        self.log_lines_dropped.inc_by(dropped.saturating_sub(self.log_lines_dropped.get()));
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, &self.process))
            .and_then(|()| encode_eof(&mut text));
        text
    }
}

/// A request in flight.
#[derive(Debug)]
pub struct InFlight<'a>(&'a Gauge);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Decision;

    fn record() -> Record {
        Record {
            kind: "Pod",
            operation: Operation::Create,
            decision: Decision::Patched,
            findings: vec![(crate::rules::node_pin_conflict::NODE_PIN_CONFLICT.id, Mode::Warn)],
            injected: vec!["node-pin"],
            uid: String::new(),
            namespace: String::new(),
            name: String::new(),
            dry_run: false,
            awaits: None,
            is_rehearsal: false,
        }
    }

    #[test]
    fn every_metric_of_an_answer_is_counted() {
        let metrics = Metrics::default();
        let in_flight = metrics.enter();
        metrics.answered(Endpoint::Mutate, &record(), Duration::from_millis(1));
        let text = metrics.encode();
        drop(in_flight);
        for line in [
            r#"setguard_admission_requests_total{endpoint="/mutate",kind="Pod",operation="CREATE",decision="patched"} 1"#,
            r#"setguard_admission_duration_seconds_count{endpoint="/mutate"} 1"#,
            r#"setguard_admission_duration_seconds_count{endpoint="/validate"} 0"#,
            r#"setguard_findings_total{rule="node-pin-conflict",mode="warn"} 1"#,
            r#"setguard_injections_total{what="node-pin"} 1"#,
            "setguard_in_flight_requests 1",
            r#"setguard_policy_reloads_total{result="failure"} 0"#,
            "# EOF",
        ] {
            assert!(text.lines().any(|have| have == line), "no {line} in\n{text}");
        }
        assert_eq!(metrics.in_flight(), 0);
    }
}

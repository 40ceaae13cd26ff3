//! The metrics for Prometheus. Every label has a closed set of values.

pub(crate) mod armed;
mod events;
mod labels;
mod process;
mod view;

use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{counter::Counter, histogram::Histogram, info::Info},
};

use self::armed::Armed;
pub use self::events::{HandshakeFailure, ManagedEvent, ReleaseSource};
use self::labels::{Counters, Labels, RESULTS, from_zero, metric, result};
use self::process::Process;
use self::view::{ReleaseInForce, View};
use setguard_core::admission::{Record, review::Operation};
use setguard_core::kubernetes::cluster::Version;

use super::telemetry;
use crate::server::prelude::*;

/// The `kind` label of a request that could not be read.
pub const NO_KIND: &str = "other";

type Histograms = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// All metrics of the server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// The metrics of the process, without the prefix of the others.
    process: Registry,
    requests: Counters<4>,
    durations: Histograms,
    findings: Counters<2>,
    injections: Counters<1>,
    in_flight: Gauge,
    pub(crate) certificate_expiry: Gauge,
    certificate_reloads: Counters<1>,
    policy_reloads: Counters<1>,
    policy_is_current: Gauge,
    pub(crate) policy_is_fallback: Gauge,
    pub handshake_failures: Counters<1>,
    log_lines_dropped: Counter,
    managed: Counters<1>,
    pub(crate) managed_healthy: Gauge,
    pub(crate) authority_expiry: Gauge,
    pub(crate) armed: Armed,
    release: ReleaseInForce,
    view: Option<View>,
}

/// In seconds, from the fastest answers to the longest timeouts in common use.
const BUCKETS: [f64; 17] = [
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
    2.0, 3.0, 5.0,
];

const ENDPOINTS: [Endpoint; 3] =
    [Endpoint::Mutate, Endpoint::MutateControlPlane, Endpoint::Validate];

impl Metrics {
    /// Creates all metrics of a server with this view of the cluster.
    pub fn with_view(live: &Arc<Live>) -> Self {
        let mut registry = Registry::with_prefix("setguard");
        let r = &mut registry;
        let durations = Histograms::new_with_constructor(|| Histogram::new(BUCKETS));
        for endpoint in ENDPOINTS {
            durations.get_or_create_owned(&[("endpoint", endpoint.path())]);
        }
        let build = Info::new([
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("newest_kubernetes", Version::NEWEST.to_string()),
        ]);
        r.register("build", "The version that is running", build);
        let policy_is_current = Gauge::default();
        policy_is_current.set(1);
        let mut process = Registry::default();
        process.register_collector(Box::new(Process));
        Metrics {
            process,
            requests: metric!(r "admission_requests" = Counters::default(),
                "Admission requests by decision; 'rejected' means a malformed request, 'fault' an internal error, \
                'timeout' that the review could not start in time"),
            durations: metric!(r "admission_duration_seconds" = durations,
                "Time from the head of a request to its answer, including the time to read the body, by endpoint"),
            findings: metric!(r "findings" = Counters::default(), "Findings by rule and by the mode in effect"),
            injections: metric!(r "injections" =
                from_zero("what", &["control-plane-tolerations", "daemon-tolerations", "node-pin"]),
                "Injections into pods and pod templates"),
            in_flight: metric!(r "in_flight_requests" = Gauge::default(), "Admission requests in flight"),
            handshake_failures: metric!(r "tls_handshake_failures" =
                from_zero("reason", &HandshakeFailure::ALL.map(HandshakeFailure::as_str)),
                "Failed TLS handshakes; 'refused-by-client' means that the webhook configuration's caBundle does not \
                match the certificate"),
            log_lines_dropped: metric!(r "log_lines_dropped" = Counter::default(),
                "Lines of the log that were dropped because nothing read the log fast enough"),
            certificate_expiry: metric!(r "certificate_expiry_seconds" = Gauge::default(),
                "Earliest expiry in the chain of the serving certificate, in seconds since 1970; subtract time() to \
                get the seconds left"),
            certificate_reloads: metric!(r "certificate_reloads" = from_zero("result", &RESULTS),
                "Reloads of a changed certificate, key or client CA, by result"),
            policy_reloads: metric!(r "policy_reloads" = from_zero("result", &RESULTS),
                "Reloads of a changed policy file, by result"),
            policy_is_current: metric!(r "policy_last_reload_successful" = policy_is_current,
                "1 if the policy in force is the content of its file, 0 if the last reload failed"),
            policy_is_fallback: metric!(r "policy_fallback" = Gauge::default(),
                "1 if the server has had no valid policy since it started, so that the rules only warn, 0 otherwise"),
            managed: metric!(r "managed_certificate_events" =
                from_zero("event", &ManagedEvent::ALL.map(ManagedEvent::as_str)),
                "Events of the managed certificate, its CA and the caBundles"),
            managed_healthy: metric!(r "managed_certificate_healthy" = Gauge::default(),
                "With --tls-managed: 1 if the last check of the Secret, the caBundles and the webhook port succeeded, \
                0 otherwise"),
            authority_expiry: metric!(r "managed_authority_expiry_seconds" = Gauge::default(),
                "With --tls-managed: expiry of the newest CA, in seconds since 1970"),
            armed: Armed::new(r),
            release: metric!(r "kubernetes_release_info" = ReleaseInForce::default(),
                "The release of Kubernetes that objects are checked against, and its source: the cluster, the policy \
                (or a flag), or the default"),
            view: live.is_on().then(|| View::new(live.clone(), r)),
            registry,
        }
    }

    /// Returns whether the value changed.
    pub(crate) fn set_release(&self, version: Version, source: ReleaseSource) -> bool {
        view::set_release(&self.release, version, source)
    }

    /// Counts an event of the managed certificate.
    pub fn managed(&self, event: ManagedEvent) {
        self.managed.get_or_create(&[("event", event.as_str())]).inc();
    }

    /// Counts a request that was answered.
    pub fn answered(&self, endpoint: Endpoint, record: &Record, took: Duration) {
        self.request(endpoint, record.kind, record.operation, record.decision.as_str());
        self.durations.get_or_create(&[("endpoint", endpoint.path())]).observe(took.as_secs_f64());
        for (rule, mode) in &record.findings {
            self.findings.get_or_create(&[("rule", *rule), ("mode", mode.as_str())]).inc();
        }
        for what in &record.injected {
            self.injections.get_or_create(&[("what", *what)]).inc();
        }
    }

    /// Counts a request that got no answer: `rejected`, `fault` or `timeout`.
    pub fn unanswered(&self, endpoint: Endpoint, decision: &'static str) {
        self.request(endpoint, NO_KIND, Operation::Unknown, decision);
    }

    fn request(
        &self,
        endpoint: Endpoint,
        kind: &'static str,
        operation: Operation,
        decision: &'static str,
    ) {
        let labels = [
            ("endpoint", endpoint.path()),
            ("kind", kind),
            ("operation", operation.as_str()),
            ("decision", decision),
        ];
        self.requests.get_or_create(&labels).inc();
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

    /// Counts a reload of the certificate; `taken` is whether it succeeded.
    pub fn certificate_reloaded(&self, taken: bool) {
        self.certificate_reloads.get_or_create(&result(taken)).inc();
    }

    /// Counts a reload of the policy; `taken` is whether it succeeded.
    pub(crate) fn policy_reloaded(&self, taken: bool) {
        self.policy_reloads.get_or_create(&result(taken)).inc();
        self.policy_is_current.set(taken.into());
    }

    /// Returns the metrics as OpenMetrics text.
    pub fn encode(&self) -> String {
        // The queue of the log has its own counter.
        let dropped = telemetry::dropped_lines();
        self.log_lines_dropped.inc_by(dropped.saturating_sub(self.log_lines_dropped.get()));
        self.armed.refresh();
        if let Some(view) = &self.view {
            view.refresh();
        }
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
    use setguard_core::admission::Decision;
    use setguard_core::finding::Mode;

    fn record() -> Record {
        Record {
            kind: "Pod",
            operation: Operation::Create,
            decision: Decision::Patched,
            findings: vec![("node-pin-conflict", Mode::Warn)],
            injected: vec!["node-pin"],
            ..Record::default()
        }
    }

    #[test]
    fn every_metric_of_an_answer_is_counted() {
        let metrics = Metrics::with_view(&Live::off());
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

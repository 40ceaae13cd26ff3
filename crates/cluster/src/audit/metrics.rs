//! Writes the metrics of an audit to a file for node_exporter's textfile collector.

use std::{io::Write as _, path::Path, sync::atomic::AtomicU64};

use prometheus_client::{
    encoding::text,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use setguard_core::{catalogue, finding::Mode};
use setguard_files::report::{diagnostic::ObjectReport, file::ReportFile};

use crate::prelude::*;

#[derive(Debug)]
pub(super) struct Metrics {
    file: ReportFile,
    findings: Family<[(&'static str, &'static str); 2], Gauge>,
    objects: Gauge,
}

impl Metrics {
    /// Prepares the file. Every enabled rule starts with zero findings, so that no series is ever absent.
    pub(super) fn create(path: &Path, policy: &Policy) -> anyhow::Result<Self> {
        let file = ReportFile::create(path);
        let file = file.with_context(|| format!("--metrics-file: {}", path.display()))?;
        let metrics = Metrics { file, findings: Family::default(), objects: Gauge::default() };
        let modes = catalogue::all().iter().map(|rule| (rule.meta.id, policy.mode(&rule.meta)));
        for (rule, mode) in modes.filter(|(_, mode)| *mode != Mode::Off) {
            metrics.findings(rule, mode.into()).set(0);
        }
        Ok(metrics)
    }

    fn findings(&self, rule: &'static str, severity: Severity) -> Gauge {
        self.findings.get_or_create_owned(&[("rule", rule), ("severity", severity.as_str())])
    }

    pub(super) fn count(&self, object: &ObjectReport) {
        self.objects.inc();
        for diagnostic in &object.diagnostics {
            self.findings(diagnostic.rule.id, diagnostic.severity).inc();
        }
    }

    /// Writes the file. Don't call it after a failed audit: the file must keep the time of the last success.
    pub(super) fn write(self, took: SignedDuration, ended: Timestamp) -> anyhow::Result<()> {
        let Metrics { file, findings, objects } = self;
        let duration = Gauge::<f64, AtomicU64>::default();
        duration.set(took.as_secs_f64());
        let success = Gauge::<i64>::default();
        success.set(ended.as_second());
        let mut registry = Registry::with_prefix("setguard_audit");
        registry.register("findings", "What the last audit found, by rule and severity", findings);
        registry.register("objects", "How many objects the last audit checked", objects);
        registry.register("duration_seconds", "How long the last audit took", duration);
        registry.register(
            "last_success_timestamp_seconds",
            "When the last audit ended that could read the cluster",
            success,
        );
        let mut encoded = String::new();
        text::encode(&mut encoded, &registry)?;
        let path = file.path().display().to_string();
        file.writer()
            .and_then(|mut out| out.write_all(encoded.as_bytes()))
            .and_then(|()| file.finish())
            .with_context(|| format!("--metrics-file: {path}"))
    }
}

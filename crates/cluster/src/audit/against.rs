//! `--against`: compares this audit with an earlier one.

use std::path::Path;

use crate::prelude::*;

pub(super) use setguard_files::{
    manifests::source::Source,
    report::{
        changes::{Change, Changes, Earlier},
        diagnostic::ObjectReport,
    },
};

#[derive(Debug, Deserialize)]
pub(super) struct EarlierReport {
    kind: String,
    #[serde(default)]
    findings: Vec<Earlier>,
    /// The kinds that the earlier audit could not read.
    #[serde(default)]
    notes: Vec<String>,
}

/// The rule, the kind, namespace and name of the object, and the field. The message may change between audits.
type Key = [String; 5];

impl EarlierReport {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let source = Source::named_file(path).read();
        let source = source.map_err(|error| anyhow!("--against: {error}"))?;
        let advice = "it must be what `setguard audit --format json` has printed";
        let report: EarlierReport = serde_json::from_str(source.text())
            .with_context(|| format!("--against: {name} cannot be read: {advice}"))?;
        if report.kind != "AuditReport" {
            bail!("--against: {name} is a {}; {advice}", report.kind);
        }
        Ok(report)
    }

    /// Compares the findings with the earlier ones that are in scope. Findings count as gone only if this audit
    /// `is_complete` and read everything that the earlier one read; `notes` list what this audit could not read.
    pub(super) fn compare(
        self,
        reports: &mut [ObjectReport],
        is_complete: bool,
        notes: &[String],
        is_in_scope: impl Fn(&Earlier) -> bool,
    ) -> Changes {
        let mut earlier: BTreeMap<Key, Vec<Earlier>> = BTreeMap::new();
        for finding in self.findings.into_iter().filter(is_in_scope) {
            let object = &finding.object;
            let key =
                [&finding.rule, &object.kind, &object.namespace, &object.name, &finding.field];
            earlier.entry(key.map(Clone::clone)).or_default().push(finding);
        }
        let (mut new, mut still) = (0, 0);
        for report in reports {
            for diagnostic in &mut report.diagnostics {
                let (id, field) = (&report.id, diagnostic.field.as_str());
                let key = [diagnostic.rule.id, &id.kind, &id.namespace, &id.name, field];
                let known = earlier.get_mut(&key.map(str::to_owned)).and_then(Vec::pop);
                *if known.is_some() { &mut still } else { &mut new } += 1;
                let change = if known.is_some() { Change::Still } else { Change::New };
                diagnostic.change = Some(change);
            }
        }
        let is_known = is_complete && notes.iter().all(|it| self.notes.contains(it));
        let gone = is_known.then(|| earlier.into_values().flatten().collect());
        Changes { new, still, gone }
    }
}

//! One JSON document. It has types of its own, so that the engine's types are not an interface.

use std::io::BufWriter;

use jiff::Timestamp;
use schemars::generate::SchemaSettings;
use serde::Serializer;
use setguard_core::{
    finding::{Effect, difference::Difference},
    rules::api_validation,
};

use super::policy_use::is_zero;
use crate::prelude::*;
use crate::report::prelude::*;

/// The number of bytes to make printable at once.
const BUFFER: usize = 64 << 10;

const API_VERSION: &str = "setguard.io/v1";

/// For files, and for a cluster.
const KINDS: [&str; 2] = ["CheckReport", "AuditReport"];

/// The report of `setguard check` or `setguard audit` in JSON. Later releases may add properties.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Report")]
struct ReportV1<'a> {
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// The kind of the document: `CheckReport` or `AuditReport`.
    #[schemars(extend("enum" = KINDS))]
    kind: &'static str,
    /// The policy file, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a PolicyUse>,
    summary: SummaryV1,
    /// The difference from an earlier audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a Changes>,
    #[schemars(with = "Vec<FindingV1<'a>>")]
    findings: FindingsV1<'a>,
    /// What was not checked, and may have a DaemonSet or StatefulSet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_checked: Vec<NotCheckedV1<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<RemarkV1<'a>>,
    /// The parts of a cluster that may not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: &'a Vec<String>,
    /// The parts of a cluster that could not be read for another reason, or not written.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failures: &'a [String],
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Summary")]
enum SummaryV1 {
    Files(FilesV1),
    Cluster(ClusterV1),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Cluster")]
struct ClusterV1 {
    objects: usize,
    denied: usize,
    warned: usize,
    healthy: HealthyV1,
}

/// The number of sets with neither an error nor a warning.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Healthy")]
struct HealthyV1 {
    daemon_sets: usize,
    stateful_sets: usize,
    /// Sets in which nothing is found, and which aren't as they should be yet.
    #[serde(skip_serializing_if = "is_zero")]
    not_settled: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Files")]
struct FilesV1 {
    files: usize,
    objects: usize,
    denied: usize,
    warned: usize,
    /// The number of documents that could not be read, or that aren't objects although they should
    /// be.
    unreadable: usize,
    /// The number of objects of other kinds.
    skipped: usize,
    /// The number of documents of files in a folder that aren't objects, such as the values of a
    /// chart.
    passed_over: usize,
    /// The number of findings in the baseline.
    hidden_by_baseline: usize,
    /// With `--new-only`, the number of findings that the previous manifests have too.
    not_new: usize,
    /// The number of findings that `--select`, `--ignore` or `--min-severity` leave out.
    #[serde(skip_serializing_if = "is_zero")]
    not_selected: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Finding")]
struct FindingV1<'a> {
    /// The id of the rule.
    rule: &'static str,
    #[schemars(extend("enum" = severities()))]
    severity: &'static str,
    #[serde(flatten)]
    place: Option<PlaceV1<'a>>,
    /// The file that the object was rendered from, according to the tool that rendered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered_from: Option<&'a str>,
    /// The charts and kustomizations that render to the object, if setguard renders them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    rendered_by: &'a [String],
    /// The object; absent for a document that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectV1<'a>>,
    /// How many pods are ready and how many should be, of an object in a cluster.
    #[serde(flatten)]
    ready: Option<ReadyV1>,
    /// The path of the field, such as `spec.selector`.
    field: &'a str,
    /// The kind of fault, in one word of the API server, or for the status of an object the id of the
    /// rule, written as such a word.
    reason: Cow<'static, str>,
    /// The fault in a few words.
    title: &'a str,
    message: String,
    /// The remedy. The message ends with it too, unless the message is the API server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    /// Other positions that belong to the finding, such as the first of two equal names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<RelatedV1<'a>>,
    /// The parts of the message, of a fault in the status of an object.
    #[serde(flatten)]
    facts: Option<FactsV1<'a>>,
    /// Whether an earlier audit has found it: `new` or `still`.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
    /// The commands that the message contains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandV1<'a>>,
    /// The reason why the finding is less severe than its rule's mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    eased: Option<&'a str>,
}

/// A position in the file of a finding.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Related")]
struct RelatedV1<'a> {
    line: usize,
    column: usize,
    message: &'a str,
}

/// Only one finding at a time is in memory in this form.
#[derive(Debug)]
struct FindingsV1<'a>(&'a Collected);

impl Serialize for FindingsV1<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FindingsV1(collected) = self;
        serializer
            .collect_seq(collected.in_files().into_iter().map(|it| FindingV1::new(collected, it)))
    }
}

/// The parts of a message about the status of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Facts")]
struct FactsV1<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pods: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    nodes: &'a [String],
    /// What the template that is not rolled out changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<DifferenceV1<'a>>,
}

/// A field that changes. `null` stands for a field that is absent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Difference")]
pub struct DifferenceV1<'a> {
    field: &'a str,
    old: Option<&'a str>,
    new: Option<&'a str>,
}

impl<'a> From<&'a Difference> for DifferenceV1<'a> {
    fn from(it: &'a Difference) -> Self {
        DifferenceV1 { field: &it.path, old: it.old.as_deref(), new: it.new.as_deref() }
    }
}

impl<'a> From<&'a Facts> for FactsV1<'a> {
    fn from(facts: &'a Facts) -> Self {
        let Facts { cause, effect, since, pods, nodes, changes, .. } = facts;
        let since = since.and_then(|seconds| Timestamp::from_second(seconds).ok());
        FactsV1 {
            cause: cause.as_deref(),
            effect: effect.as_deref(),
            since: since.map(|time| time.to_string()),
            pods,
            nodes,
            changes: changes.iter().map(DifferenceV1::from).collect(),
        }
    }
}

/// Writes an id such as `node-down` as one word: `NodeDown`.
fn word(id: &str) -> String {
    let capitalized = id.split('-').map(|part| {
        let (first, rest) = part.split_at_checked(1).unwrap_or((part, ""));
        first.to_ascii_uppercase() + rest
    });
    capitalized.collect()
}

/// A line for a shell, and its effect on the cluster.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Command")]
pub struct CommandV1<'a> {
    run: &'a str,
    /// The effect: `looks`, `changes`, `restarts-pods` or `can-lose-data`.
    #[schemars(extend("enum" = effects()))]
    effect: &'static str,
    /// The maximum number of pods that the command restarts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pods: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ready")]
struct ReadyV1 {
    ready: i32,
    wanted: i32,
}

impl<'a> From<&'a Command> for CommandV1<'a> {
    fn from(command: &'a Command) -> Self {
        let effect = command.effect();
        CommandV1 { run: command.line(), effect: effect.as_str(), pods: effect.pods() }
    }
}

/// The position in a file; absent for an object without a file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
struct PlaceV1<'a> {
    file: &'a str,
    line: usize,
    column: usize,
}

/// The identity of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Object")]
pub struct ObjectV1<'a> {
    api_version: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

/// A file, or an object in it, that was not checked.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NotChecked")]
struct NotCheckedV1<'a> {
    /// A file, or a folder whose files were not looked at.
    file: &'a str,
    /// The line of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The reason in one word. Later releases may have more of them.
    #[schemars(extend("enum" = causes()))]
    reason: &'static str,
    /// The reason, and how to check it.
    message: &'a str,
    /// With `--against-ref`, whether the change adds or edits it. The run then fails.
    changed: bool,
}

impl<'a> From<&'a NotChecked> for NotCheckedV1<'a> {
    fn from(entry: &'a NotChecked) -> Self {
        let NotChecked { file, line, cause, why, is_changed, .. } = entry;
        let (reason, changed) = (cause.as_str(), *is_changed);
        NotCheckedV1 { file, line: *line, reason, message: why, changed }
    }
}

fn causes() -> [&'static str; Cause::ALL.len()] {
    Cause::ALL.map(Cause::as_str)
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Remark")]
struct RemarkV1<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    object: ObjectV1<'a>,
    message: &'a str,
}

impl<'a> From<&'a ObjectId> for ObjectV1<'a> {
    fn from(id: &'a ObjectId) -> Self {
        let ObjectId { api_version, kind, namespace, name, .. } = id;
        ObjectV1 { api_version, kind, namespace, name }
    }
}

impl From<Summary> for SummaryV1 {
    fn from(summary: Summary) -> Self {
        let Summary { objects, denied, warned, hidden, .. } = summary;
        if let Some(Healthy { daemon_sets, stateful_sets, unsettled }) = summary.healthy {
            let healthy = HealthyV1 { daemon_sets, stateful_sets, not_settled: unsettled };
            return SummaryV1::Cluster(ClusterV1 { objects, denied, warned, healthy });
        }
        SummaryV1::Files(FilesV1 {
            files: summary.files,
            objects,
            denied,
            warned,
            unreadable: summary.unreadable,
            skipped: summary.others,
            passed_over: summary.passed_over,
            hidden_by_baseline: hidden.by_baseline,
            not_new: hidden.as_old,
            not_selected: hidden.as_unwanted,
        })
    }
}

impl<'a> FindingV1<'a> {
    fn new(collected: &'a Collected, entry: &'a Entry) -> Self {
        let diagnostic = &entry.diagnostic;
        let Mark { line, column, .. } = diagnostic.mark;
        let object = entry.object.and_then(|number| collected.objects.get(number));
        let ready = object.and_then(|it| it.ready);
        FindingV1 {
            rule: diagnostic.rule.id,
            severity: diagnostic.severity.as_str(),
            place: collected.file(entry).map(|file| PlaceV1 { file: &file.name, line, column }),
            rendered_from: object.and_then(|it| it.rendered_from.as_deref()),
            rendered_by: &entry.roots,
            object: object.map(|it| ObjectV1::from(&*it.id)),
            ready: ready.map(|Ready { ready, wanted }| ReadyV1 { ready, wanted }),
            field: &diagnostic.field,
            reason: match diagnostic.facts {
                Some(_) => word(diagnostic.rule.id).into(),
                None => diagnostic.reason.as_str().into(),
            },
            facts: diagnostic.facts.as_deref().map(FactsV1::from),
            change: diagnostic.change,
            title: &diagnostic.title,
            message: match api_validation::quotes_api_server(diagnostic.rule) {
                true => diagnostic.message.clone(),
                false => diagnostic.text(),
            },
            help: diagnostic.help.as_deref(),
            related: diagnostic
                .related
                .iter()
                .map(|(at, message)| RelatedV1 { line: at.line, column: at.column, message })
                .collect(),
            commands: diagnostic.commands.iter().map(CommandV1::from).collect(),
            eased: diagnostic.downgrade.as_deref(),
        }
    }
}

/// The findings of a file are in the order of its lines.
pub(super) fn write(collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
    let remarks = collected.remarks.iter().filter_map(|(number, message)| {
        let object = collected.objects.get(*number)?;
        let file = object.file.and_then(|file| collected.files.get(file));
        let file = file.map(|file| file.name.as_str());
        Some(RemarkV1 { file, object: (&*object.id).into(), message })
    });
    let is_audit = collected.summary.healthy.is_some();
    let report = ReportV1 {
        api_version: API_VERSION,
        kind: KINDS[usize::from(is_audit)],
        policy: collected.policy.as_ref(),
        summary: collected.summary.into(),
        changes: collected.changes.as_ref(),
        findings: FindingsV1(collected),
        not_checked: collected.not_checked.iter().map(NotCheckedV1::from).collect(),
        remarks: remarks.collect(),
        notes: &collected.notes,
        // The summary counts files that could not be read.
        failures: if is_audit { &collected.failures } else { &[] },
    };
    // serde_json writes in small pieces.
    let mut out = BufWriter::with_capacity(BUFFER, Printable::new(out));
    serde_json::to_writer_pretty(&mut out, &report)?;
    writeln!(out)?;
    out.flush()
}

fn severities() -> [&'static str; 3] {
    [Severity::Note, Severity::Warning, Severity::Error].map(Severity::as_str)
}

fn effects() -> [&'static str; 4] {
    [Effect::Looks, Effect::Changes, Effect::Restarts(0), Effect::LosesData].map(Effect::as_str)
}

/// Returns the JSON Schema of the report.
pub fn schema() -> serde_json::Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<ReportV1<'_>>().to_value()
}

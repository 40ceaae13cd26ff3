//! One JSON document. It has its own types, so that the engine's types are not an interface.

use std::io::{self, Write};

use serde::Serialize;

use super::{
    Report,
    diagnostic::{Diagnostic, ObjectReport, Summary},
};
use crate::{
    manifests::{id::ObjectId, source::Source},
    printable::Printable,
};

/// The report, collected until it is printed.
#[derive(Debug, Default)]
pub(crate) struct Json {
    findings: Vec<FindingV1>,
    remarks: Vec<RemarkV1>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckReportV1<'a> {
    api_version: &'static str,
    kind: &'static str,
    summary: SummaryV1,
    findings: &'a [FindingV1],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    remarks: &'a [RemarkV1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SummaryV1 {
    files: usize,
    objects: usize,
    denied: usize,
    warned: usize,
    /// Documents that could not be read, or that are no objects although they should be.
    unreadable: usize,
    /// Objects of other kinds.
    skipped: usize,
    /// Documents of files in a folder that are no objects, such as the values of a chart.
    passed_over: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingV1 {
    rule: &'static str,
    severity: &'static str,
    file: String,
    line: usize,
    column: usize,
    /// Absent for a document that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectV1>,
    field: String,
    reason: &'static str,
    message: String,
    /// Why it is less severe than its rule's mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    eased: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectV1 {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

#[derive(Debug, Serialize)]
struct RemarkV1 {
    file: String,
    object: ObjectV1,
    message: String,
}

impl From<&ObjectId> for ObjectV1 {
    fn from(id: &ObjectId) -> Self {
        let ObjectId { api_version, kind, namespace, name, .. } = id.clone();
        ObjectV1 { api_version, kind, namespace, name }
    }
}

impl FindingV1 {
    fn new(source: &Source, id: Option<&ObjectId>, diagnostic: &Diagnostic) -> Self {
        let message = match &diagnostic.help {
            Some(help) => format!("{}; {help}", diagnostic.message),
            None => diagnostic.message.clone(),
        };
        FindingV1 {
            rule: diagnostic.rule.id,
            severity: diagnostic.severity.as_str(),
            file: source.name().to_owned(),
            line: diagnostic.mark.line,
            column: diagnostic.mark.column,
            object: id.map(ObjectV1::from),
            field: diagnostic.field.clone(),
            reason: diagnostic.reason.as_str(),
            message,
            eased: diagnostic.downgrade.clone(),
        }
    }
}

impl Report for Json {
    fn object(&mut self, source: &Source, object: &ObjectReport) -> io::Result<()> {
        let id = &object.id;
        self.findings.extend(
            object
                .diagnostics
                .iter()
                .map(|diagnostic| FindingV1::new(source, Some(id), diagnostic)),
        );
        self.remarks.extend(object.remarks.iter().map(|message| RemarkV1 {
            file: source.name().to_owned(),
            object: id.into(),
            message: message.clone(),
        }));
        Ok(())
    }

    fn unreadable(&mut self, source: &Source, diagnostic: &Diagnostic) -> io::Result<()> {
        self.findings.push(FindingV1::new(source, None, diagnostic));
        Ok(())
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let &Summary { files, objects, denied, warned, others, unreadable, passed_over } = summary;
        let skipped = others;
        let report = CheckReportV1 {
            api_version: "setguard.io/v1",
            kind: "CheckReport",
            summary: SummaryV1 { files, objects, denied, warned, unreadable, skipped, passed_over },
            findings: &self.findings,
            remarks: &self.remarks,
        };
        let mut out = Printable::new(io::BufWriter::new(io::stdout().lock()));
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
        out.flush()
    }
}

//! One JSON document. Its types are its own: what the engine's types look like is not an interface.

use std::io::{self, Write};

use serde::Serialize;

use super::{Report, Summary};
use crate::{
    check::{
        judge::{Judgement, Said},
        previous::Id,
    },
    manifests::source::Source,
};

/// The report, gathered.
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
struct SummaryV1 {
    files: usize,
    objects: usize,
    denied: usize,
    warned: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingV1 {
    rule: &'static str,
    severity: &'static str,
    file: String,
    line: usize,
    column: usize,
    /// Not there for a document that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectV1>,
    field: String,
    reason: &'static str,
    message: String,
    /// Why it is taken less strictly than its rule is.
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

impl From<&Id> for ObjectV1 {
    fn from(id: &Id) -> Self {
        let Id { api_version, kind, namespace, name, .. } = id.clone();
        ObjectV1 { api_version, kind, namespace, name }
    }
}

impl FindingV1 {
    fn new(source: &Source, id: Option<&Id>, said: &Said) -> Self {
        let message = match &said.help {
            Some(help) => format!("{}; {help}", said.message),
            None => said.message.clone(),
        };
        FindingV1 {
            rule: said.rule,
            severity: said.severity.as_str(),
            file: source.name().to_owned(),
            line: said.mark.line,
            column: said.mark.column,
            object: id.map(ObjectV1::from),
            field: said.field.clone(),
            reason: said.reason.as_str(),
            message,
            eased: said.eased.clone(),
        }
    }
}

impl Report for Json {
    fn judgement(&mut self, source: &Source, judgement: &Judgement) -> io::Result<()> {
        let id = &judgement.id;
        self.findings
            .extend(judgement.said.iter().map(|said| FindingV1::new(source, Some(id), said)));
        self.remarks.extend(judgement.remarks.iter().map(|message| RemarkV1 {
            file: source.name().to_owned(),
            object: id.into(),
            message: message.clone(),
        }));
        Ok(())
    }

    fn unreadable(&mut self, source: &Source, said: &Said) -> io::Result<()> {
        self.findings.push(FindingV1::new(source, None, said));
        Ok(())
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let &Summary { files, objects, denied, warned, .. } = summary;
        let report = CheckReportV1 {
            api_version: "setguard.io/v1",
            kind: "CheckReport",
            summary: SummaryV1 { files, objects, denied, warned },
            findings: &self.findings,
            remarks: &self.remarks,
        };
        let mut out = io::BufWriter::new(io::stdout().lock());
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
        out.flush()
    }
}

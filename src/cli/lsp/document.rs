//! An open document, and its findings as the editor shows them.

use kube_yaml::Mark;
use setguard_files::{
    manifests::{files::LARGEST_IN_FOLDER, path_context::PathContext},
    report::diagnostic::{Diagnostic, Severity},
};
use setguard_offline::check::editor::{Earlier, EditorText, Findings};

use super::{
    position::{Encoding, Lines},
    protocol::{Change, Range},
};
use crate::cli::prelude::*;

#[derive(Debug, Default)]
pub(super) struct Document {
    /// The name in messages.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) version: Option<i32>,
    pub(super) kind: Kind,
    /// According to the editor.
    pub(super) is_template: bool,
    /// Facts from the folders around the file.
    pub(super) context: Option<PathContext>,
    pub(super) earlier: Earlier,
    /// `None` until the text is checked.
    pub(super) findings: Option<Findings>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Manifests,
    Policy,
    /// A document that a check of its folder leaves out, such as a template.
    LeftOut,
}

/// The protocol's numbers for severities.
const ERROR: u8 = 1;
const WARNING: u8 = 2;
const INFORMATION: u8 = 3;
const HINT: u8 = 4;

impl Document {
    pub(super) fn change(&mut self, changes: Vec<Change>, encoding: Encoding) {
        for Change { range, text } in changes {
            let Some(range) = range else {
                self.text = text;
                continue;
            };
            let lines = Lines::of(&self.text, encoding);
            let (one, other) = (lines.byte(range.start), lines.byte(range.end));
            self.text.replace_range(one.min(other)..one.max(other), &text);
        }
        self.findings = None;
    }

    pub(super) fn editor_text<'a>(&'a self, policy: &'a Policy) -> EditorText<'a> {
        EditorText {
            name: &self.name,
            text: &self.text,
            policy,
            context: self.context.as_ref(),
            earlier: &self.earlier,
        }
    }

    pub(super) fn lines(&self, encoding: Encoding) -> Lines<'_> {
        Lines::of(&self.text, encoding)
    }

    pub(super) fn check(&mut self, uri: &str, policy: &Policy, encoding: Encoding) -> Vec<Value> {
        self.findings = Some(Findings::default());
        if self.kind == Kind::LeftOut {
            return Vec::new();
        }
        let lines = self.lines(encoding);
        if self.text.len() as u64 > LARGEST_IN_FOLDER {
            let most = LARGEST_IN_FOLDER >> 20;
            let message = format!("this isn't checked: it has more than {most} MiB");
            return vec![diagnostic(lines.of_line(1), WARNING, &message)];
        }
        if self.kind == Kind::Policy {
            let problems = Policy::parse(&self.text).err().unwrap_or_default();
            return problems.iter().map(|problem| of_problem(problem, &lines)).collect();
        }
        let findings = self.editor_text(policy).findings();
        let diagnostics = findings.diagnostics.iter().map(|it| of_finding(it, uri, &lines));
        let remarks = findings.remarks.iter().map(|(line, remark)| {
            diagnostic(lines.of_line(line.unwrap_or(1)), INFORMATION, remark)
        });
        let all = diagnostics.chain(remarks).collect();
        self.findings = Some(findings);
        all
    }

    /// The protocol has no lens without a command, and editors run none if its name is empty.
    pub(super) fn lenses(&self, policy: &Policy, encoding: Encoding) -> Vec<Value> {
        if self.text.len() as u64 > LARGEST_IN_FOLDER {
            return Vec::new();
        }
        let lines = self.lines(encoding);
        let lenses = self.editor_text(policy).consequences().into_iter().map(|(mark, text)| {
            let command = json!({ "title": format!("setguard plan: {text}"), "command": "" });
            json!({ "range": lines.of_line(mark.line), "command": command })
        });
        lenses.collect()
    }

    pub(super) fn findings_in(
        &self,
        range: Range,
        encoding: Encoding,
    ) -> Vec<(Range, &Diagnostic)> {
        let Some(findings) = &self.findings else { return Vec::new() };
        if findings.diagnostics.is_empty() {
            return Vec::new();
        }
        let lines = self.lines(encoding);
        let all = findings.diagnostics.iter().map(|it| (lines.of_mark(it.mark), it));
        all.filter(|(at, _)| at.start <= range.end && range.start <= at.end).collect()
    }
}

pub(super) fn of_finding(finding: &Diagnostic, uri: &str, lines: &Lines<'_>) -> Value {
    let severity = match finding.severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        // The author knows about this finding, and has exempted it.
        Severity::Note if finding.downgrade.is_some() => HINT,
        Severity::Note => INFORMATION,
    };
    let message = match finding.title == finding.message {
        true => finding.sentence(),
        false => format!("{}\n{}", finding.title, finding.sentence()),
    };
    let mut value = diagnostic(lines.of_mark(finding.mark), severity, &message);
    let related = finding.related.iter().map(|(at, message)| {
        json!({ "location": { "uri": uri, "range": lines.of_mark(*at) }, "message": message })
    });
    let related: Vec<Value> = related.collect();
    let rule = catalogue::find(finding.rule.id);
    if let (Some(rule), Some(value)) = (rule, value.as_object_mut()) {
        if !related.is_empty() {
            value.insert("relatedInformation".to_owned(), related.into());
        }
        value.insert("code".to_owned(), finding.rule.id.into());
        value.insert("codeDescription".to_owned(), json!({ "href": catalogue::url(&rule.meta) }));
    }
    value
}

fn of_problem(problem: &Problem, lines: &Lines<'_>) -> Value {
    let Mark { line, .. } = problem.mark;
    let at = if line == 0 { lines.of_line(1) } else { lines.of_mark(problem.mark) };
    let message = match &problem.help {
        Some(help) => format!("{}; {help}", problem.message),
        None => problem.message.clone(),
    };
    diagnostic(at, ERROR, &message)
}

fn diagnostic(range: Range, severity: u8, message: &str) -> Value {
    json!({ "range": range, "severity": severity, "source": "setguard", "message": message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_large_is_not_checked_and_says_so() {
        let most = usize::try_from(LARGEST_IN_FOLDER).unwrap();
        let text = format!("a:{}", " ".repeat(most));
        let mut document = Document { text, ..Document::default() };
        let diagnostics = document.check("", &Policy::default(), Encoding::Utf16);
        assert_eq!(diagnostics[0]["message"], "this isn't checked: it has more than 32 MiB");
    }
}

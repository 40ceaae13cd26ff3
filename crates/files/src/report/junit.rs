//! JUnit XML. Jenkins, GitLab and Azure Pipelines show it as tests: each file is a suite, and each object a test case
//! that fails if the object would be denied.
//!
//! Format: the schema that Jenkins' xUnit plugin uses, `junit-10.xsd`.

use setguard_core::printable::is_unseen;

use crate::report::prelude::*;

const ELSEWHERE: &str = "setguard";

#[derive(Default)]
struct Suite<'a> {
    name: &'a str,
    cases: Vec<Case<'a>>,
}

#[derive(Default)]
struct Case<'a> {
    name: String,
    failures: Vec<&'a Entry>,
    /// The reasons why the object cannot be evaluated.
    errors: Vec<String>,
    /// Warnings and notes.
    output: Vec<&'a Entry>,
    remarks: Vec<String>,
    skipped: Option<&'a str>,
}

pub(super) fn write(collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
    let suites = suites(collected);
    let cases = || suites.iter().flat_map(|suite| &suite.cases);
    let [tests, failures, errors, _] = totals(cases());
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites name=\"setguard\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">"
    )?;
    for Suite { name, cases } in &suites {
        let [tests, failures, errors, skipped] = totals(cases.iter());
        writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" \
             skipped=\"{skipped}\">",
            Xml(name)
        )?;
        if let Some(policy) = collected.policy.as_ref().filter(|it| it.weakens()) {
            let value = policy.to_string();
            let property = format!("<property name=\"policy\" value=\"{}\"/>", Xml(&value));
            writeln!(out, "    <properties>{property}</properties>")?;
        }
        for case in cases {
            case.write(name, collected, out)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn totals<'c, 'a: 'c>(cases: impl Iterator<Item = &'c Case<'a>>) -> [usize; 4] {
    cases.fold([0; 4], |[tests, failures, errors, skipped], case| {
        let (failed, is_error) = (!case.failures.is_empty(), !case.errors.is_empty());
        let skipped = skipped + usize::from(case.skipped.is_some());
        [tests + 1, failures + usize::from(failed), errors + usize::from(is_error), skipped]
    })
}

fn suites(collected: &Collected) -> Vec<Suite<'_>> {
    let files = collected.files.iter().map(|file| Suite { name: &file.path, cases: Vec::new() });
    let mut suites: Vec<_> = files.collect();
    let elsewhere = suites.len();
    suites.push(Suite { name: ELSEWHERE, cases: Vec::new() });
    let mut cases: Vec<Case<'_>> = collected
        .objects
        .iter()
        .map(|object| Case { name: object.id.to_string(), ..Case::default() })
        .collect();
    for entry in collected.in_files() {
        match entry.object.and_then(|number| cases.get_mut(number)) {
            Some(case) if entry.diagnostic.severity == Severity::Error => case.failures.push(entry),
            Some(case) => case.output.push(entry),
            None => {
                let name = format!("document at line {}", entry.diagnostic.mark.line.max(1));
                let errors = vec![line(collected, entry)];
                let case = Case { name, errors, ..Case::default() };
                if let Some(suite) = suites.get_mut(entry.file.unwrap_or(elsewhere)) {
                    suite.cases.push(case);
                }
            }
        }
    }
    for (number, _, text) in collected.remarked() {
        cases[number].remarks.push(format!("note: {text}"));
    }
    for (object, case) in collected.objects.iter().zip(cases) {
        if let Some(suite) = suites.get_mut(object.file.unwrap_or(elsewhere)) {
            suite.cases.push(case);
        }
    }
    if let Some(suite) = suites.last_mut() {
        suite.cases.extend(collected.not_checked.iter().map(|entry| {
            let line = entry.line.map(|line| format!(" at line {line}")).unwrap_or_default();
            let name = format!("{}{line}", collected.path_of(entry));
            match entry.is_changed {
                true => Case { name, errors: vec![entry.sentence()], ..Case::default() },
                false => Case { name, skipped: Some(&entry.why), ..Case::default() },
            }
        }));
        suite.cases.extend(collected.failures.iter().enumerate().map(|(i, message)| Case {
            name: format!("complete check: problem {}", i + 1),
            errors: vec![message.clone()],
            ..Case::default()
        }));
    }
    suites.retain(|suite| !suite.cases.is_empty());
    if suites.is_empty() {
        // Most readers treat a report without a test as broken.
        let case = Case { name: "nothing to check".to_owned(), ..Case::default() };
        suites.push(Suite { name: ELSEWHERE, cases: vec![case] });
    }
    suites
}

fn line(collected: &Collected, entry: &Entry) -> String {
    let diagnostic = &entry.diagnostic;
    let (severity, rule) = (diagnostic.severity.as_str(), diagnostic.rule.id);
    let text = format!("{severity}[{rule}]: {}", diagnostic.sentence());
    match collected.file(entry) {
        Some(file) => {
            format!("{}:{}:{}: {text}", file.path, diagnostic.mark.line, diagnostic.mark.column)
        }
        None => text,
    }
}

impl Case<'_> {
    fn write(&self, suite: &str, collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
        let (name, suite) = (Xml(&self.name), Xml(suite));
        write!(out, "    <testcase name=\"{name}\" classname=\"{suite}\"")?;
        if let Some(why) = self.skipped {
            return writeln!(out, "><skipped message=\"{}\"/></testcase>", Xml(why));
        }
        let lines = |all: &[&Entry]| all.iter().map(|it| line(collected, it)).collect::<Vec<_>>();
        let output = [lines(&self.output), self.remarks.clone()].concat();
        if self.failures.is_empty() && self.errors.is_empty() && output.is_empty() {
            return writeln!(out, "/>");
        }
        writeln!(out, ">")?;
        if let Some((first, others)) = self.failures.split_first() {
            let mut message = first.diagnostic.title.clone();
            if !others.is_empty() {
                message.push_str(&format!(" (and {} more)", others.len()));
            }
            let (rule, message) = (first.diagnostic.rule.id, Xml(&message));
            let text = lines(&self.failures).join("\n");
            let text = Xml(&text);
            writeln!(out, "      <failure type=\"{rule}\" message=\"{message}\">{text}</failure>")?;
        }
        for message in &self.errors {
            writeln!(out, "      <error type=\"unreadable\" message=\"{}\"/>", Xml(message))?;
        }
        if !output.is_empty() {
            writeln!(out, "      <system-out>{}</system-out>", Xml(&output.join("\n")))?;
        }
        writeln!(out, "    </testcase>")
    }
}

/// Text in XML, also in quotes. Leaves out control characters and others that XML forbids. No text begins a command of
/// a pipeline, such as `##vso[`.
pub struct Xml<'a>(pub &'a str);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = ' ';
        for c in self.0.chars() {
            match c {
                '#' if before == '#' => f.write_str("&#35;")?,
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\n' => f.write_str("&#10;")?,
                '\t' => f.write_str("&#9;")?,
                '\u{fffe}' | '\u{ffff}' => continue,
                c if c.is_control() => continue,
                c if is_unseen(c) => write!(f, "&#{};", u32::from(c))?,
                c => fmt::Write::write_char(f, c)?,
            }
            before = c;
        }
        Ok(())
    }
}

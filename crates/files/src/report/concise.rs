//! One line for each finding, for people with many findings, for editors and for `grep`.

use crate::report::prelude::*;

/// Writes lines such as `a.yaml:7:5: warning[RULE]: StatefulSet default/db: …`, then the summary.
pub(super) fn write(collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
    let mut out = Printable::new(out).guarded();
    for entry in collected.in_files() {
        let (line, severity) = (place(collected, entry), entry.diagnostic.severity.as_str());
        let sentence = collected.sentence(entry).replace('\n', " ");
        writeln!(out, "{line}: {severity}[{}]: {sentence}", entry.diagnostic.rule.id)?;
    }
    for (_, object, text) in collected.remarked() {
        match object.file.and_then(|file| collected.files.get(file)) {
            Some(file) => writeln!(out, "{}: note: {text}", file.name)?,
            None => writeln!(out, "note: {text}")?,
        }
    }
    for entry in &collected.not_checked {
        writeln!(out, "{}", entry.sentence())?;
    }
    writeln!(out, "{}", collected.summary)?;
    match collected.policy.as_ref().filter(|it| it.weakens()) {
        Some(policy) => writeln!(out, "{policy}"),
        None => Ok(()),
    }
}

fn place(collected: &Collected, entry: &Entry) -> String {
    match collected.file(entry) {
        Some(file) => {
            let mark = entry.diagnostic.mark;
            format!("{}:{}:{}", file.name, mark.line.max(1), mark.column.max(1))
        }
        None => collected.path(entry).unwrap_or_default().into_owned(),
    }
}

//! The baseline: a file with the findings that existed when setguard was introduced.
//!
//! The file has one finding per line, sorted, with its message as a comment, so that two branches
//! merge:
//!
//! ```text
//! surge-host-port apps/DaemonSet/kube-system/agent spec.updateStrategy  # container "main" claims …
//! ```
//!
//! A finding is identified by its rule, object and field, wherever its line moves.

use std::collections::{BTreeMap, HashMap, HashSet};

use setguard_core::{
    finding::shorten,
    rules::{
        api_validation::API_VALIDATION, pod_template_validation::POD_TEMPLATE_VALIDATION,
        policy_weakened::POLICY_WEAKENED, schema::SCHEMA,
    },
};
use setguard_files::report::{
    diagnostic::{Diagnostic, Severity},
    fingerprint::Fingerprint,
};

pub(crate) const ALWAYS_REPORTED: [&str; 4] =
    [API_VALIDATION.id, POD_TEMPLATE_VALIDATION.id, SCHEMA.id, POLICY_WEAKENED.id];

const HEADER: &str = "\
# Findings that `setguard check --baseline` knows and does not report again, one per line, sorted.
# `setguard check --prune-baseline` removes those that are fixed.
";

/// The maximum length of a message in the file, in bytes.
const LONG_MESSAGE: usize = 160;

#[derive(Debug, Default)]
pub(crate) struct Baseline {
    /// The entries with their lines, from 1, and whether this run found them.
    entries: BTreeMap<String, Entry>,
    /// The objects of the entries, and whether this run checked them.
    objects: HashMap<String, bool>,
    /// The valid entries. `None` if all are valid.
    allowed: Option<HashSet<String>>,
    /// The findings of this run with their messages, if the run writes a baseline.
    written: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    line: usize,
    is_found: bool,
}

impl Baseline {
    /// Parses a baseline. The error names the first invalid line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut baseline = Baseline::default();
        for (i, line) in text.lines().enumerate() {
            let line_number = i + 1;
            let entry = entry_of(line);
            if entry.is_empty() {
                continue;
            }
            let words: Vec<_> = entry.split(' ').collect();
            match words.as_slice() {
                [rule, ..] if ALWAYS_REPORTED.contains(rule) => {
                    return Err(format!(
                        "{line_number}: a baseline cannot hide {rule}, which the API server refuses"
                    ));
                }
                [_, object, _] | [_, object, _, _] if is_number(words.get(3)) => {
                    baseline.objects.insert((*object).to_owned(), false);
                    let new = Entry { line: line_number, is_found: false };
                    baseline.entries.entry(entry.to_owned()).or_insert(new);
                }
                _ => {
                    return Err(format!(
                        "{line_number}: this isn't a finding: write RULE OBJECT FIELD"
                    ));
                }
            }
        }
        Ok(baseline)
    }

    /// Limits the entries to those in an earlier baseline. Returns the others, each with its line.
    pub(crate) fn since(&mut self, earlier: &Baseline) -> Vec<(usize, String)> {
        let is_new = |(text, _): &(&String, &Entry)| !earlier.entries.contains_key(*text);
        let added = self.entries.iter().filter(is_new);
        let mut added: Vec<_> = added.map(|(text, entry)| (entry.line, text.clone())).collect();
        added.sort_unstable();
        self.allowed = Some(earlier.entries.keys().cloned().collect());
        added
    }

    pub(crate) fn to_write() -> Self {
        Baseline { written: Some(BTreeMap::new()), ..Baseline::default() }
    }

    pub(crate) fn checked(&mut self, object: &str) {
        if let Some(is_checked) = self.objects.get_mut(object) {
            *is_checked = true;
        }
    }

    /// Returns whether the baseline has a finding. A baseline to write records every finding except notes.
    pub(crate) fn hides(&mut self, fingerprint: &Fingerprint, diagnostic: &Diagnostic) -> bool {
        let text = fingerprint.to_string();
        if let Some(entry) = self.entries.get_mut(&text) {
            entry.is_found = true;
            return self.allowed.as_ref().is_none_or(|it| it.contains(&text));
        }
        if let Some(written) = &mut self.written
            && diagnostic.severity > Severity::Note
        {
            written.insert(text, one_line(&diagnostic.message));
            return true;
        }
        false
    }

    /// Returns the text of a file with all recorded findings.
    pub(crate) fn to_text(&self) -> String {
        let mut text = HEADER.to_owned();
        for (entry, message) in self.written.iter().flatten() {
            text.push_str(&format!("{entry}  # {message}\n"));
        }
        text
    }

    /// Returns the entries that no finding matches: line and text, and the number of those whose object isn't in the
    /// input.
    pub(crate) fn unused(&self) -> (Vec<(usize, String)>, usize) {
        let (mut fixed, mut absent) = (Vec::new(), 0);
        let missing = self.entries.iter().filter(|(_, entry)| !entry.is_found);
        for (text, entry) in missing {
            let object = text.split(' ').nth(1).unwrap_or_default();
            if self.objects.get(object) == Some(&true) {
                fixed.push((entry.line, text.clone()));
            } else {
                absent += 1;
            }
        }
        fixed.sort_unstable();
        (fixed, absent)
    }

    /// Returns the text of the file without unused entries. The rest stays unchanged.
    pub(crate) fn pruned(&self, text: &str) -> String {
        let is_unused = |line: &&str| {
            let entry = self.entries.get(entry_of(line));
            entry.is_some_and(|entry| !entry.is_found)
        };
        text.split_inclusive('\n').filter(|line| !is_unused(line)).collect()
    }
}

/// Returns a line without its comment; empty if the line has no entry.
fn entry_of(line: &str) -> &str {
    let line = line.trim_start_matches('\u{feff}').trim();
    let entry = line.split_once("  #").map_or(line, |(entry, _)| entry).trim_end();
    if entry.starts_with('#') { "" } else { entry }
}

/// Returns whether the optional word after a field is a number such as `#2`.
fn is_number(word: Option<&&str>) -> bool {
    word.is_none_or(|word| {
        let digits = word.strip_prefix('#').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn one_line(message: &str) -> String {
    let message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shorten(&message, LONG_MESSAGE).into_owned()
}

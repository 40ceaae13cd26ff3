//! YAML comments that exempt from warnings: `# setguard: ignore[rule-a, rule-b] reason`.
//!
//! A comment covers its own line or, if it stands alone, the next line that isn't empty, with everything nested below
//! the values that begin there. A comment above the first line of an object therefore covers the object. Like the
//! annotation `setguard.io/ignore`, a comment never exempts from a denial.

use std::ops::RangeInclusive;

use kube_yaml::{Comment, Value};
use setguard_core::{engine::adjustment::Why, object::annotations::IGNORE_ANNOTATION};
use setguard_files::{manifests::patches::items, report::diagnostic::ObjectReport};

use crate::prelude::*;

#[derive(Debug, Default)]
pub(crate) struct Ignores {
    list: Vec<Ignore>,
    remarks: Vec<String>,
    /// The first checked object of the document.
    object: Option<Arc<ObjectId>>,
}

#[derive(Debug)]
struct Ignore {
    line: usize,
    covers: RangeInclusive<usize>,
    rule: String,
    reason: String,
    use_: Use,
}

/// The effect of a rule in a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// No finding of the rule exists.
    None,
    /// The findings of the rule are denials.
    Denied,
    /// The comment exempts a finding, or would if nothing else exempted it.
    Exempts,
}

impl Ignores {
    pub(crate) fn of(document: &Document<'_>) -> Self {
        let mut ignores = Ignores::default();
        for comment in &document.comments {
            if let Some(text) = comment.after("setguard") {
                ignores.add(text, comment, &document.root);
            }
        }
        let root = &document.root;
        for object in std::iter::once(root).chain(items(root.get("items"))) {
            let metadata = object.get("metadata").and_then(|it| it.get("annotations"));
            let Some(list) = metadata.and_then(|it| it.get(IGNORE_ANNOTATION)) else { continue };
            let rules = list.as_str().unwrap_or_default().split(',').map(str::trim);
            for rule in rules.filter(|it| !it.is_empty()) {
                ignores.knows(list.mark.line, rule);
            }
        }
        ignores
    }

    /// Returns whether a rule exists. Otherwise adds a remark.
    fn knows(&mut self, line: usize, rule: &str) -> bool {
        let exists = catalogue::find(rule).is_some();
        if !exists {
            let near = catalogue::nearest(rule);
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            self.remarks.push(format!("line {line}: there is no rule {rule:?}{near}"));
        }
        exists
    }

    fn add(&mut self, text: &str, comment: &Comment<'_>, root: &Node<'_>) {
        let line = comment.line;
        let Some((rules, reason)) = parse(text) else {
            let wanted = "write `# setguard: ignore[RULE] reason`";
            self.remarks.push(format!("line {line}: this comment is not understood; {wanted}"));
            return;
        };
        let covers = covers(comment, root);
        for rule in rules {
            if self.knows(line, rule) {
                let (rule, reason) = (rule.to_owned(), reason.to_owned());
                let covers = covers.clone();
                self.list.push(Ignore { line, covers, rule, reason, use_: Use::None });
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.remarks.is_empty()
    }

    pub(crate) fn begin(&mut self, id: &Arc<ObjectId>) {
        if !self.is_empty() {
            self.object.get_or_insert_with(|| id.clone());
        }
    }

    pub(crate) fn apply(&mut self, violation: &mut Violation, mark: Mark) {
        for ignore in &mut self.list {
            if ignore.rule == violation.finding.rule.id && ignore.covers.contains(&mark.line) {
                ignore.apply(violation);
            }
        }
    }

    /// Returns whether a comment covers the findings of a rule at this line.
    pub(super) fn cover(&self, rule: &str, line: usize) -> bool {
        self.list.iter().any(|it| it.rule == rule && it.covers.contains(&line))
    }

    /// Lists the rules and reasons of the comments that have an effect.
    pub(super) fn used(&self) -> impl Iterator<Item = (String, String)> {
        let used = self.list.iter().filter(|it| it.use_ != Use::None);
        used.map(|it| (it.rule.clone(), it.reason.clone()))
    }

    /// Drops the comments without an effect here that have one elsewhere.
    pub(super) fn retain(&mut self, is_used: impl Fn(&str, &str) -> bool) {
        self.list.retain(|it| it.use_ != Use::None || !is_used(&it.rule, &it.reason));
    }

    /// Returns the remarks on the comments after all rules. `None` without remarks, or if no object of the document is
    /// checked. `number` is the number of an object in the document.
    pub(crate) fn remarks(self, number: usize) -> Option<ObjectReport> {
        let mut remarks = self.remarks;
        for Ignore { line, rule, use_, .. } in self.list {
            match use_ {
                Use::Exempts => {}
                Use::Denied => remarks.push(format!(
                    "line {line}: {rule} denies here, and a comment can't exempt from a denial"
                )),
                Use::None => remarks.push(format!(
                    "line {line}: {rule} finds nothing that this comment covers; remove it"
                )),
            }
        }
        let id = self.object.filter(|_| !remarks.is_empty())?;
        Some(ObjectReport { number, remarks, ..ObjectReport::of(id) })
    }
}

/// Returns the line number at the start of a remark on a comment.
pub(super) fn line_of(remark: &str) -> Option<usize> {
    remark.strip_prefix("line ")?.split_once(':')?.0.parse().ok()
}

pub(super) fn comment(rule: &str) -> String {
    format!("# setguard: ignore[{rule}] reason")
}

impl Ignore {
    fn apply(&mut self, violation: &mut Violation) {
        let use_ = match violation.mode {
            Mode::Deny => Use::Denied,
            // The rule denies a finding even though the old object also has it.
            Mode::Warn if violation.is_lowered() => Use::Denied,
            Mode::Warn => {
                let (line, reason) = (self.line, self.reason.clone());
                violation.lower(Mode::Audit, Why::Comment { line, reason });
                Use::Exempts
            }
            Mode::Audit | Mode::Off => Use::Exempts,
        };
        self.use_ = self.use_.max(use_);
    }
}

fn parse(text: &str) -> Option<(Vec<&str>, &str)> {
    let (rules, reason) =
        text.strip_prefix("ignore")?.trim_start().strip_prefix('[')?.split_once(']')?;
    let rules: Vec<_> = rules.split(',').map(str::trim).collect();
    (!rules.contains(&"")).then_some((rules, reason.trim_start_matches([' ', '\t', ':', '-', '—'])))
}

fn covers(comment: &Comment<'_>, root: &Node<'_>) -> RangeInclusive<usize> {
    let mut best: Option<RangeInclusive<usize>> = None;
    each_part(root.mark.line, root, &mut |first, last| {
        let is_meant = if comment.is_alone { first > comment.line } else { first == comment.line };
        // Of the parts that begin on one line, the outermost comes first.
        if is_meant && best.as_ref().is_none_or(|best| first < *best.start()) {
            best = Some(first..=last());
        }
    });
    best.unwrap_or(comment.line..=comment.line)
}

/// Calls `see` with every value of a tree: with its first line, including the key, and a function that returns its
/// last line.
fn each_part(first: usize, node: &Node<'_>, see: &mut dyn FnMut(usize, &dyn Fn() -> usize)) {
    see(first, &|| last_line(node).max(first));
    match &node.value {
        Value::Map(entries) => {
            entries.iter().for_each(|(key, node)| each_part(key.mark.line, node, see));
        }
        Value::Seq(items) => items.iter().for_each(|node| each_part(node.mark.line, node, see)),
        _ => {}
    }
}

fn last_line(node: &Node<'_>) -> usize {
    let below = match &node.value {
        Value::Map(entries) => {
            entries.iter().map(|(key, node)| key.mark.line.max(last_line(node))).max()
        }
        Value::Seq(items) => items.iter().map(last_line).max(),
        _ => None,
    };
    below.unwrap_or(0).max(node.mark.line)
}

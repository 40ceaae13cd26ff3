//! The findings of rules about an object.
//!
//! The wording is the API server's: each [`Reason`] has its constructor on [`At`].

use std::{borrow::Cow, cell::Cell, fmt};

use kube_yaml::{Field, Path};

use super::{
    at::At,
    fault::{Finding, Reported},
    help::Help,
    reason::Reason,
    rule::Meta,
    shorten,
};

/// Limits one rule, so that an object with thousands of faults does not cause an answer of megabytes.
const MAX_FINDINGS: usize = 100;
/// In bytes. A longer message loses its middle.
pub(crate) const MAX_MESSAGE: usize = 16 << 10;
/// Bytes of messages of one rule. The first finding is kept even if it is longer.
const MAX_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
struct Count {
    rule: &'static Meta,
    kept: usize,
    bytes: usize,
    left_out: usize,
}

/// The findings that rules collect. A limited number of findings per rule is kept, and the rest are counted.
#[derive(Debug)]
pub struct Findings {
    rule: &'static Meta,
    list: Vec<Finding>,
    counts: Vec<Count>,
}

#[derive(Debug)]
pub(crate) struct Checkpoint {
    kept: usize,
    counts: Vec<Count>,
}

impl Findings {
    /// Creates an empty list for findings of this rule.
    pub const fn of(rule: &'static Meta) -> Self {
        Findings { rule, list: Vec::new(), counts: Vec::new() }
    }

    /// Sets the rule that later findings belong to.
    pub const fn set_rule(&mut self, rule: &'static Meta) {
        self.rule = rule;
    }

    /// Returns the number of findings, including the ones that were left out.
    pub fn len(&self) -> usize {
        self.list.len() + self.counts.iter().map(|count| count.left_out).sum::<usize>()
    }

    /// Returns whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the kept findings in the order of discovery.
    pub fn into_vec(self) -> Vec<Finding> {
        self.list
    }

    /// Returns each rule with left-out findings, and how many.
    pub fn left_out(&self) -> impl Iterator<Item = (&'static Meta, usize)> {
        let some = self.counts.iter().filter(|count| count.left_out > 0);
        some.map(|count| (count.rule, count.left_out))
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { kept: self.list.len(), counts: self.counts.clone() }
    }

    /// Returns the findings since the checkpoint.
    pub(crate) fn rewind(&mut self, to: Checkpoint) -> Vec<Finding> {
        self.counts = to.counts;
        self.list.split_off(to.kept)
    }

    /// Runs a rule, prefixes its messages with `before`, and adds `help` where the rule gives none.
    pub(crate) fn quote(
        &mut self,
        before: &str,
        help: &'static str,
        rule: impl FnOnce(&mut Findings),
    ) {
        self.edit(rule, |finding| {
            finding.message.insert_str(0, before);
            finding.help.get_or_insert(Cow::Borrowed(help));
        });
    }

    pub(crate) fn edit(&mut self, rule: impl FnOnce(&mut Self), change: impl Fn(&mut Finding)) {
        let kept = self.list.len();
        rule(self);
        self.list.iter_mut().skip(kept).for_each(change);
    }

    /// If there is no room for the next finding, a rule need not describe it.
    pub(crate) fn has_room(&self) -> bool {
        let count = self.counts.iter().find(|count| std::ptr::eq(count.rule, self.rule));
        count.is_none_or(|count| count.kept < MAX_FINDINGS && count.bytes < MAX_BYTES)
    }

    pub(crate) fn add(&mut self, finding: impl FnOnce(&'static Meta) -> Finding) -> Reported<'_> {
        let (has_room, rule) = (self.has_room(), self.rule);
        let known = self.counts.iter().position(|count| std::ptr::eq(count.rule, rule));
        let index = known.unwrap_or_else(|| {
            self.counts.push(Count { rule, kept: 0, bytes: 0, left_out: 0 });
            self.counts.len() - 1
        });
        let Some(count) = self.counts.get_mut(index) else { return Reported(None) };
        if !has_room {
            count.left_out += 1;
            return Reported(None);
        }
        let mut finding = finding(rule);
        if let Cow::Owned(shorter) = shorten(&finding.message, MAX_MESSAGE) {
            finding.message = shorter;
        }
        count.kept += 1;
        count.bytes += finding.message.len();
        self.list.push(finding);
        Reported(self.list.last_mut())
    }

    /// Adds a finding in a rule's own words: `message` describes the consequence, `help` the remedy. Both are lower
    /// case without a full stop.
    pub fn report(
        &mut self,
        field: impl Into<Field>,
        reason: Reason,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) -> Reported<'_> {
        let (field, message) = (field.into(), message.into());
        let Help { text, commands } = help.into();
        let help = Some(text);
        self.add(|rule| Finding { help, commands, ..Finding::new(rule, field, reason, message) })
    }

    /// Adds a warning in the API server's words.
    pub fn say(
        &mut self,
        path: &Path<'_>,
        reason: Reason,
        text: String,
        help: Option<&'static str>,
    ) -> Reported<'_> {
        let help = help.map(Cow::Borrowed);
        self.add(|rule| Finding { help, ..Finding::new(rule, path.to_field(), reason, text) })
    }

    /// Returns the place for findings about this field.
    pub fn at<'a>(&'a mut self, path: &Path<'a>) -> At<'a> {
        At::new(*path, Cell::from_mut(self))
    }

    pub(super) fn push(
        &mut self,
        path: &Path<'_>,
        reason: Reason,
        body: fmt::Arguments<'_>,
        detail: &dyn fmt::Display,
    ) {
        self.add(|rule| {
            let mut message = body.to_string();
            let detail = detail.to_string();
            if !detail.is_empty() {
                message.push_str(": ");
                message.push_str(&detail);
            }
            Finding::new(rule, path.to_field(), reason, message)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Value;

    #[test]
    fn of_many_findings_of_a_rule_the_first_are_kept_and_the_others_counted() {
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        let spec = Path::new("spec");
        for i in 0..1_000 {
            found.at(&spec.child("replicas")).invalid(i, "");
        }
        assert_eq!(found.len(), 1_000);
        assert_eq!(found.left_out().map(|(_, left_out)| left_out).collect::<Vec<_>>(), [900]);
        let before = found.checkpoint();
        found.at(&spec).required("");
        found.rewind(before);
        assert_eq!((found.len(), found.into_vec().len()), (1_000, 100));
    }

    #[test]
    fn long_messages_fill_the_room_sooner() {
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        for _ in 0..10 {
            found.at(&Path::new("spec")).forbidden("x".repeat(12 << 10));
        }
        assert_eq!((found.len(), found.into_vec().len()), (10, 6));
    }

    #[test]
    fn a_message_is_bounded_whatever_it_quotes() {
        let long = "<é\u{1}".repeat(1 << 20);
        for value in [Value::Str(&long), Value::json(&[&long])] {
            let mut found = Findings::of(&crate::finding::TEST_RULE);
            found.at(&Path::new("spec")).invalid(value, "must be short");
            let message = found.into_vec().remove(0).message;
            assert!(message.len() <= MAX_MESSAGE + 10, "{} bytes", message.len());
            assert!(message.starts_with("Invalid value: "), "{message:.50}");
            assert!(message.ends_with("…: must be short"), "{}", &message[message.len() - 50..]);
        }
    }

    #[test]
    fn constructors_choose_the_words() {
        let mut found = Findings::of(&super::super::rule::SOME_RULE);
        let spec = Path::new("spec");
        found.at(&spec.child("selector")).required("");
        found.at(&spec.child("replicas")).invalid(-1, "must be greater than or equal to 0");
        found.at(&spec.child("policy")).not_supported("x\n", &["A", "B"]);
        found.at(&spec.child("type")).invalid(Value::json(&serde_json::json!({"a": "<"})), "no");
        let texts: Vec<_> = found.into_vec().iter().map(|f| f.message.clone()).collect();
        assert_eq!(
            texts,
            [
                "Required value",
                "Invalid value: -1: must be greater than or equal to 0",
                "Unsupported value: \"x\\n\": supported values: \"A\", \"B\"",
                "Invalid value: {\"a\":\"\\u003c\"}: no",
            ]
        );
    }
}

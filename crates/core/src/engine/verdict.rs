//! Verdicts: findings with their modes.

use crate::engine::prelude::*;
use crate::rules::api_validation::{KEEP, METAS};

/// A finding and its mode.
#[derive(Clone, Debug)]
pub struct Violation {
    pub finding: Finding,
    /// The mode after policy, exceptions and ratcheting.
    pub mode: Mode,
    /// Why the mode is lower than the rule's, in the order of application.
    pub adjustments: Vec<Why>,
}

impl Violation {
    /// Returns a finding whose mode nothing has lowered.
    pub const fn new(finding: Finding, mode: Mode) -> Self {
        Violation { finding, mode, adjustments: Vec::new() }
    }

    /// Lowers the mode for a reason, unless it is already that low.
    pub fn lower(&mut self, mode: Mode, why: Why) {
        if mode < self.mode {
            self.mode = mode;
            self.adjustments.push(why);
        }
    }

    /// Returns whether anything has lowered the mode.
    pub fn is_lowered(&self) -> bool {
        !self.adjustments.is_empty()
    }
}

/// The verdict on one object.
#[must_use = "a verdict decides whether an object is allowed"]
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The findings whose mode is not off, in the order of discovery.
    pub violations: Vec<Violation>,
    /// The findings that did not fit: rule, mode and number.
    pub left_out: Vec<(&'static Meta, Mode, usize)>,
    /// Remarks on the policy itself, such as an expired exception.
    pub remarks: Vec<String>,
    /// If the verdict is only a precaution, the resource version that the view must reach for a certain one.
    pub awaits: Option<u64>,
}

impl Verdict {
    /// Returns whether nothing is denied.
    pub fn allowed(&self) -> bool {
        self.denials().next().is_none()
    }

    /// The findings that did not fit get the mode of the last finding that did.
    pub(super) fn leave_out(&mut self, left_out: Vec<(&'static Meta, usize)>) {
        for (rule, count) in left_out {
            if let Some(kept) = self.violations.iter().rfind(|it| it.finding.rule == rule) {
                self.left_out.push((rule, kept.mode, count));
                self.remarks.push(format!("{}: and {count} more like these", rule.id));
            }
        }
    }

    /// Adds faults that make the API server refuse a write before it validates the object. They replace the warnings
    /// about the same faults.
    pub fn refuse(&mut self, refused: &[Finding]) {
        let is_same = |fault: &Finding, other: &Finding| {
            fault.reason == other.reason && other.field.strip_prefix(&fault.field).is_some()
        };
        self.violations.retain(|it| {
            it.mode == Mode::Deny || !refused.iter().any(|fault| is_same(fault, &it.finding))
        });
        let denied = |finding: &Finding| Violation::new(finding.clone(), Mode::Deny);
        self.violations.extend(refused.iter().map(denied));
    }

    /// Makes the advice about a refused change the help of the refusal, so that one fault is one finding. If there is
    /// only one piece of advice, the refusal may be at a different field: before 1.37, or if the change removes the
    /// field.
    pub fn join_remedies(&mut self) {
        let is_remedy = |it: &mut Violation| it.finding.is_remedy && !it.is_lowered();
        let remedies: Vec<_> = self.violations.extract_if(.., is_remedy).collect();
        let count = remedies.len();
        for remedy in remedies {
            let is_refusal = |it: &&mut Violation| {
                let Finding { rule, field, help, .. } = &it.finding;
                it.mode >= remedy.mode
                    && METAS.contains(rule)
                    && help.as_ref().is_some_and(|it| it.ends_with(KEEP))
                    && (count == 1 || *field == remedy.finding.field)
            };
            match self.violations.iter_mut().find(is_refusal) {
                Some(Violation { finding, .. }) => {
                    let instead = remedy.finding.help.unwrap_or_default();
                    finding.help =
                        finding.help.take().map(|it| format!("{it}, or {instead}").into());
                    finding.commands.extend(remedy.finding.commands);
                }
                None => self.violations.push(remedy),
            }
        }
    }

    /// Adds a second verdict on the same object.
    pub fn join(&mut self, other: Verdict) {
        self.violations.extend(other.violations);
        self.left_out.extend(other.left_out);
        self.remark(other.remarks);
    }

    pub(super) fn remark(&mut self, remarks: impl IntoIterator<Item = String>) {
        for remark in remarks {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
    }

    /// Lowers every finding to at most this mode.
    pub fn at_most(&mut self, mode: Mode) {
        for violation in &mut self.violations {
            violation.mode = violation.mode.min(mode);
        }
        for (_, of_left_out, _) in &mut self.left_out {
            *of_left_out = mode.min(*of_left_out);
        }
        self.violations.retain(|it| it.mode != Mode::Off);
    }

    /// Lowers the warnings that `why` gives a reason for to notes. Denials stay.
    pub fn lower(&mut self, why: impl Fn(&Finding) -> Option<String>) {
        for violation in self.violations.iter_mut().filter(|it| it.mode == Mode::Warn) {
            if let Some(why) = why(&violation.finding) {
                violation.lower(Mode::Audit, Why::Place(why));
            }
        }
        for (rule, mode, _) in &mut self.left_out {
            let kept = self.violations.iter().rfind(|it| it.finding.rule == *rule);
            *mode = kept.map_or(*mode, |it| it.mode.min(*mode));
        }
    }

    /// Returns the findings that deny the object.
    pub fn denials(&self) -> impl Iterator<Item = &Violation> {
        self.of(Mode::Deny)
    }

    /// Returns the denials of objects that the API server itself would refuse.
    pub fn refusals(&self) -> impl Iterator<Item = &Violation> {
        self.denials().filter(|it| METAS.contains(&it.finding.rule))
    }

    /// Returns the findings that are shown as warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Violation> {
        self.of(Mode::Warn)
    }

    /// Returns how many findings deny the object, including the ones that did not fit.
    pub fn count_denials(&self) -> usize {
        let left_out = self.left_out.iter().filter(|(_, mode, _)| *mode == Mode::Deny);
        self.denials().count() + left_out.map(|(.., count)| count).sum::<usize>()
    }

    pub(crate) fn of(&self, mode: Mode) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(move |violation| violation.mode == mode)
    }
}

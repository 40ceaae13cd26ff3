//! Verdicts: findings after modes, ratcheting and exceptions have been applied.

use crate::{
    finding::{Finding, Meta, Mode},
    rules::api_validation::METAS,
};

/// A finding, and the mode that applies to it.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The finding.
    pub finding: Finding,
    /// The mode after policy, ratcheting and exceptions.
    pub mode: Mode,
    /// The reason why the mode is less strict than the rule's mode.
    pub downgrade: Option<Downgrade>,
}

/// The reason why a finding's mode is less strict than its rule's mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Downgrade {
    /// The old object already had this fault: existing objects stay editable.
    Ratcheted,
    /// The policy has an exception, with this reason.
    Exception(String),
    /// The object's own annotation exempts it from a warning.
    Annotation,
    /// An annotation permits the change to exceed a limit.
    Permit {
        /// The limit, the last day, and the user if one is known.
        text: String,
        /// The mode without the annotation.
        mode: Mode,
    },
    /// The place or the content of a file gives a reason why a warning is of no use: the sentence with the reason.
    Place(String),
}

/// The verdict on one object.
#[must_use = "a verdict decides whether an object is allowed"]
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// All findings whose mode is not off, in the order of discovery.
    pub violations: Vec<Violation>,
    /// The findings that there was no room for: rule, mode and number.
    pub left_out: Vec<(&'static Meta, Mode, usize)>,
    /// Remarks on the policy itself, such as an expired exception.
    pub remarks: Vec<String>,
    /// The version of the cluster that the view has to have for a verdict that isn't for safety's sake.
    pub awaits: Option<u64>,
}

impl Verdict {
    /// Returns whether the object is allowed, because nothing is denied.
    pub fn allowed(&self) -> bool {
        self.denials().next().is_none()
    }

    /// Counts findings of a rule that there was no room for. Their mode is the mode of the last
    /// finding that was kept.
    pub(super) fn leave_out(&mut self, rule: &'static Meta, count: usize) {
        let kept = self.violations.iter().rfind(|it| it.finding.rule == rule);
        if let Some(mode) = kept.map(|it| it.mode).filter(|_| count > 0) {
            self.left_out.push((rule, mode, count));
            self.remarks.push(format!("{}: and {count} more like these", rule.id));
        }
    }

    /// Adds faults for which the API server refuses a write before it validates the object, in place of what warns of
    /// them.
    pub(crate) fn refuse(&mut self, refused: &[Finding]) {
        let is_same = |one: &Finding, other: &Finding| {
            (one.reason, &one.field) == (other.reason, &other.field)
        };
        self.violations.retain(|it| {
            it.mode == Mode::Deny || !refused.iter().any(|fault| is_same(fault, &it.finding))
        });
        let denied = |finding: &Finding| Violation {
            finding: finding.clone(),
            mode: Mode::Deny,
            downgrade: None,
        };
        self.violations.extend(refused.iter().map(denied));
    }

    /// Adds another verdict on the same object.
    pub(crate) fn join(&mut self, other: Verdict) {
        self.violations.extend(other.violations);
        self.left_out.extend(other.left_out);
        self.remark(other.remarks);
    }

    /// Adds remarks, each only once.
    pub(super) fn remark(&mut self, remarks: impl IntoIterator<Item = String>) {
        for remark in remarks {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
    }

    /// Limits every finding to this mode.
    pub(crate) fn at_most(&mut self, mode: Mode) {
        for violation in &mut self.violations {
            violation.mode = violation.mode.min(mode);
        }
        for (_, of_left_out, _) in &mut self.left_out {
            *of_left_out = mode.min(*of_left_out);
        }
    }

    /// Makes notes of those warnings for which there is a reason. A denial stays.
    pub(crate) fn lower(&mut self, why: impl Fn(&Finding) -> Option<String>) {
        for violation in self.violations.iter_mut().filter(|it| it.mode == Mode::Warn) {
            if let Some(why) = why(&violation.finding) {
                violation.mode = Mode::Audit;
                violation.downgrade.get_or_insert(Downgrade::Place(why));
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

    /// Returns the denials for which the API server itself refuses the object.
    pub fn refusals(&self) -> impl Iterator<Item = &Violation> {
        self.denials().filter(|it| METAS.contains(&it.finding.rule))
    }

    /// Returns the findings that are shown as warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Violation> {
        self.of(Mode::Warn)
    }

    /// Returns the findings that are counted, but not shown.
    pub fn audits(&self) -> impl Iterator<Item = &Violation> {
        self.of(Mode::Audit)
    }

    /// Returns the number of findings that deny the object, including those that there was no room
    /// for.
    pub fn count_denials(&self) -> usize {
        let left_out = self.left_out.iter().filter(|(_, mode, _)| *mode == Mode::Deny);
        self.denials().count() + left_out.map(|(.., count)| count).sum::<usize>()
    }

    fn of(&self, mode: Mode) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(move |violation| violation.mode == mode)
    }
}

//! The inputs of a verdict besides the object, and the mode of each finding.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{deadline::Deadline, verdict::Violation};
use crate::engine::prelude::*;
use crate::{
    object::{
        Metadata, User,
        annotations::{EXCEED_ANNOTATION, IGNORE_ANNOTATION},
    },
    policy::Policy,
    rules::{pod_template_validation::POD_TEMPLATE_VALIDATION, too_large_to_check::TOO_LARGE},
};

/// Where an object comes from, and so what has validated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A manifest that nothing has validated yet.
    Manifest,
    /// A review. The API server has validated the object, and may know fields that setguard does not know.
    Admission,
    /// A running cluster. The API server has validated the object, perhaps by the rules of an older release.
    Cluster,
}

/// Everything besides the object that a verdict depends on.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// Where the object comes from.
    pub origin: Origin,
    /// Today's date, for exceptions that expire.
    pub today: Date,
    /// When the evaluation must end.
    pub deadline: Deadline<'a>,
    /// The webhook's view of the cluster that the object is meant for.
    pub view: Option<&'a View>,
    /// The view has all changes of the sets in the review's namespace up to this resource version, if known.
    pub view_version: Option<u64>,
    /// The name of the object's file, for exceptions that name files.
    pub file: Option<&'a str>,
    /// The name of the file that had the object before, for the same exceptions.
    pub old_file: Option<&'a str>,
    /// The user who makes the change, if known.
    pub requester: Option<&'a User<'a>>,
    /// Whether annotations have no effect on findings.
    pub no_ignores: bool,
}

impl<'a> Context<'a> {
    /// Creates the context of a review, without a deadline or a view of the cluster.
    pub const fn of_review(policy: &'a Policy, today: Date) -> Self {
        Context {
            policy,
            origin: Origin::Admission,
            today,
            deadline: Deadline::NONE,
            view: None,
            view_version: None,
            file: None,
            old_file: None,
            requester: None,
            no_ignores: false,
        }
    }

    /// Creates the context of a command. It has no deadline and no view of a cluster.
    pub fn of_command(policy: &'a Policy, origin: Origin, now: Timestamp) -> Self {
        let today = TimeZone::UTC.to_datetime(now).date();
        Context { origin, ..Context::of_review(policy, today) }
    }

    pub(super) fn mode(&self, rule: &Meta) -> Mode {
        let mode = self.policy.mode(rule);
        match self.origin {
            Origin::Admission | Origin::Cluster if rule == POD_TEMPLATE_VALIDATION => {
                mode.min(Mode::Audit)
            }
            Origin::Manifest | Origin::Admission | Origin::Cluster => mode,
        }
    }

    /// Returns whether an exception exempts the file that had the object before. Its faults are new everywhere else.
    pub(super) fn was_exempt(
        &self,
        rule: &Meta,
        object: &Identity<'_>,
        old_file: Option<&str>,
    ) -> bool {
        let Some(file) = old_file else { return false };
        let exceptions = self.policy.exceptions.iter().filter(|it| it.names_files());
        exceptions
            .filter(|it| it.expires.is_none_or(|last| last >= self.today))
            .any(|exception| exception.covers(rule, object.namespace, object.name, Some(file)))
    }
}

/// The properties of an object that exceptions and annotations depend on.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) ignore: Option<&'a str>,
    /// Set if the object is evaluated together with others.
    pub(super) file: Option<&'a str>,
    pub(super) exceed: Option<&'a str>,
}

impl<'a> Identity<'a> {
    /// Returns the identity of an object of which only the name is known.
    pub(super) const fn of(namespace: &'a str, name: &'a str) -> Self {
        Identity { namespace, name, ignore: None, file: None, exceed: None }
    }
}

impl<'a> From<&'a Metadata<'_>> for Identity<'a> {
    fn from(metadata: &'a Metadata<'_>) -> Self {
        Identity {
            ignore: metadata.annotation(IGNORE_ANNOTATION),
            exceed: metadata.annotation(EXCEED_ANNOTATION),
            ..Identity::of(metadata.namespace(), metadata.name())
        }
    }
}

impl<'a> From<&'a ObjectSummary> for Identity<'a> {
    fn from(item: &'a ObjectSummary) -> Self {
        Identity {
            namespace: item.namespace(),
            name: item.name(),
            ignore: item.ignore(),
            file: item.file(),
            exceed: item.exceed(),
        }
    }
}

impl Verdict {
    /// Turns warnings into denials, as for a set without a ready pod, unless the policy sets the rule's mode.
    pub(super) fn deny_by_default(&mut self, cx: &Context<'_>) {
        for violation in &mut self.violations {
            let rule = violation.finding.rule;
            let is_default = violation.mode == Mode::Warn && !cx.policy.modes.contains_key(rule);
            if is_default && !violation.is_lowered() {
                violation.mode = Mode::Deny;
            }
        }
    }

    /// The policy, its exceptions and the old object decide the modes.
    pub(super) fn add_all(
        &mut self,
        found: Findings,
        object: &Identity<'_>,
        had_before: impl Fn(&Finding) -> bool,
        cx: &Context<'_>,
    ) {
        let left_out: Vec<_> = found.left_out().collect();
        for finding in found.into_vec() {
            self.add(finding, object, &had_before, cx);
        }
        self.leave_out(left_out);
    }

    /// As [`Self::add_all`].
    pub(super) fn add(
        &mut self,
        finding: Finding,
        object: &Identity<'_>,
        had_before: impl Fn(&Finding) -> bool,
        cx: &Context<'_>,
    ) {
        let mode = cx.mode(finding.rule);
        if mode == Mode::Off {
            return;
        }
        let mut violation = Violation::new(finding, mode);
        let finding = &violation.finding;
        if finding.rule.adjustable && mode > Mode::Audit {
            if let Some(reason) = exception(finding, object, cx, self) {
                violation.lower(Mode::Audit, Why::Exception(reason));
            } else if mode == Mode::Warn && !cx.no_ignores && ignores(object, finding.rule) {
                violation.lower(Mode::Audit, Why::Annotation);
            } else if mode == Mode::Deny
                && had_before(finding)
                && !cx.was_exempt(finding.rule, object, cx.old_file)
            {
                violation.lower(Mode::Warn, Why::Ratchet);
            } else if mode == Mode::Warn && finding.is_note {
                // Not an adjustment: the rule itself makes this a note.
                violation.mode = Mode::Audit;
            }
        }
        self.violations.push(violation);
    }
}

/// An expired exception becomes a remark.
fn exception(
    finding: &Finding,
    object: &Identity<'_>,
    cx: &Context<'_>,
    verdict: &mut Verdict,
) -> Option<String> {
    let mut exceptions = cx.policy.exceptions.iter().peekable();
    if exceptions.peek().is_some() && cx.deadline.has_passed() {
        let remark = "the evaluation took too long and was stopped: the exceptions of the policy were not read";
        verdict.remark([remark.to_owned()]);
        return None;
    }
    let (rule, file) = (finding.rule, object.file.or(cx.file));
    let covering = exceptions.filter(|e| e.covers(rule, object.namespace, object.name, file));
    for exception in covering {
        match exception.expires {
            Some(last) if last < cx.today => {
                let rule = finding.rule.id;
                verdict.remark([format!("{rule}: the exception for it expired on {last}")]);
            }
            _ => return Some(exception.reason.clone()),
        }
    }
    None
}

/// An object cannot silence the message that rules have not looked at it.
fn ignores(object: &Identity<'_>, rule: &Meta) -> bool {
    let ids = object.ignore.filter(|_| *rule != *TOO_LARGE);
    ids.is_some_and(|ids| ids.split(',').any(|id| id.trim() == rule.id))
}

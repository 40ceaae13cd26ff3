//! The reasons why the API server, or a limit of the policy, refuses an object.

use crate::{
    engine::verdict::Verdict,
    finding::Mode,
    rules::traps::{immutable_field, limits::LIMIT_EXCEEDED},
};

/// A reason why an object is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) rule: &'static str,
    pub(super) field: String,
    pub(super) message: String,
}

/// Returns why the API server refuses an object.
pub(super) fn of(verdict: &Verdict) -> impl Iterator<Item = Refusal> {
    verdict.refusals().map(|violation| Refusal {
        rule: violation.finding.rule.id,
        field: violation.finding.field.to_string(),
        message: violation.finding.message.clone(),
    })
}

/// A consequence that a limit of the policy forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exceeded {
    pub(super) is_denied: bool,
    pub(super) what: Refusal,
}

/// Returns the consequences that the limits of the policy forbid.
pub(super) fn exceeded(verdict: &Verdict) -> impl Iterator<Item = Exceeded> {
    let shown = verdict.denials().chain(verdict.warnings());
    shown.filter(|violation| *violation.finding.rule == LIMIT_EXCEEDED).map(|violation| Exceeded {
        is_denied: violation.mode == Mode::Deny,
        what: Refusal {
            rule: violation.finding.rule.id,
            field: violation.finding.field.to_string(),
            message: violation.finding.message.clone(),
        },
    })
}

/// Returns the ways to make a change that the API server refuses because the field is immutable.
pub(super) fn remedies(verdict: &Verdict) -> Vec<String> {
    let changes = verdict.violations.iter().map(|violation| &violation.finding);
    let changes = changes.filter(|finding| *finding.rule == immutable_field::RULE.meta);
    changes.filter_map(|finding| finding.help.as_ref().map(ToString::to_string)).collect()
}

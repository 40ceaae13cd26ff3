use setguard_core::rules::{
    api_validation::{API_VALIDATION, KEEP},
    limit_exceeded::LIMIT_EXCEEDED,
    pod_never_created,
};

use crate::check::manifest_check::placeholder_in;
use crate::plan::prelude::*;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlanFinding {
    pub(super) rule: &'static str,
    pub(super) field: String,
    pub(super) message: String,
    /// The text there that a tool replaces before the object is applied.
    pub(super) placeholder: Option<String>,
    pub(super) is_immutable: bool,
    pub(super) is_denied: bool,
}

impl PlanFinding {
    fn of(violation: &Violation) -> Self {
        let finding = &violation.finding;
        PlanFinding {
            rule: finding.rule.id,
            field: finding.field.to_string(),
            message: finding.message.clone(),
            placeholder: None,
            is_immutable: finding.help.as_ref().is_some_and(|it| it.contains(KEEP)),
            is_denied: violation.mode == Mode::Deny,
        }
    }
}

/// Returns the refusal of a new object.
///
/// Kubernetes: `Lifecycle.Admit`, apiserver pkg/admission/plugin/namespace/lifecycle/admission.go.
pub(super) fn of_ending_namespace(namespace: &str) -> PlanFinding {
    PlanFinding {
        rule: API_VALIDATION.id,
        field: "metadata.namespace".to_owned(),
        message: format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        ),
        ..PlanFinding::default()
    }
}

/// Returns how the pods deviate from the simulated rollout.
pub(super) fn otherwise(verdict: &Verdict) -> impl Iterator<Item = String> {
    let warnings = verdict.warnings().map(|it| &it.finding).filter(|it| it.is_in_plan);
    warnings.map(|it| format!("{}: {}: {}", it.rule.id, it.field, it.text()))
}

/// Returns why the API server refuses the pods of an object that it accepts.
pub(super) fn of_pods(verdict: &Verdict) -> Option<String> {
    let mut shown = verdict.denials().chain(verdict.warnings()).map(|it| &it.finding);
    let found = shown.find(|it| it.rule == &pod_never_created::RULE.meta)?;
    Some(format!("{}: {}: {}", found.rule.id, found.field, found.text()))
}

pub(super) fn of(verdict: &Verdict, node: &Node<'_>) -> impl Iterator<Item = PlanFinding> {
    verdict.refusals().map(|it| {
        let placeholder = placeholder_in(it, node.locate(it.finding.place()), node);
        PlanFinding { placeholder, ..PlanFinding::of(it) }
    })
}

/// Returns the consequences above a limit of the policy.
pub(super) fn exceeded(verdict: &Verdict) -> impl Iterator<Item = PlanFinding> {
    let shown = verdict.denials().chain(verdict.warnings());
    shown.filter(|it| it.finding.rule == LIMIT_EXCEEDED).map(PlanFinding::of)
}

/// Returns the remarks about limits, such as why an annotation doesn't raise one.
pub(super) fn remarks(verdict: &Verdict) -> impl Iterator<Item = String> {
    verdict.remarks.iter().filter(|it| it.starts_with(LIMIT_EXCEEDED.id)).cloned()
}

/// Returns the ways to change a field that the API server treats as immutable.
pub(super) fn remedies(verdict: &Verdict) -> Vec<String> {
    let changes = verdict.violations.iter().map(|violation| &violation.finding);
    let changes = changes.filter(|finding| finding.is_remedy);
    changes.filter_map(|finding| finding.help.as_ref().map(ToString::to_string)).collect()
}

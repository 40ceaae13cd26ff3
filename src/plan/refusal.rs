//! What the API server would refuse.

use crate::{
    engine::{self, Context, verdict::Judged},
    finding::Mode,
    object::Subject,
    rules::api_validation::meta::{API_VALIDATION, POD_TEMPLATE_VALIDATION, SCHEMA},
};

/// A reason why an object is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) rule: &'static str,
    pub(super) field: String,
    pub(super) message: String,
}

/// Why an object is refused, and what its author can do about changes that are not possible.
pub(super) fn of(subject: &Subject<'_>, cx: &Context<'_>) -> (Vec<Refusal>, Vec<String>) {
    let judged = engine::evaluate(subject, cx).judged;
    let is_refusal = |judged: &Judged| {
        let rules = [&API_VALIDATION, &POD_TEMPLATE_VALIDATION, &SCHEMA];
        rules.contains(&judged.finding.rule) && judged.mode == Mode::Deny
    };
    let help = judged.iter().filter(|it| it.finding.rule.id == "immutable-field");
    let help = help.filter_map(|it| it.finding.help.as_ref().map(ToString::to_string)).collect();
    let refusals = judged.iter().filter(|it| is_refusal(it)).map(|it| Refusal {
        rule: it.finding.rule.id,
        field: it.finding.field.to_string(),
        message: it.finding.message.clone(),
    });
    (refusals.collect(), help)
}

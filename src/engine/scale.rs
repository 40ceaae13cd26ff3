//! The evaluation of a write to the scale subresource, by `kubectl scale` or an autoscaler.
//!
//! Such a write contains nothing but two numbers, so the rest is known only from the view.

use super::{
    context::{Context, Identity},
    verdict::Verdict,
};
use crate::{
    finding::Findings,
    inventory::view::Freshness,
    kubernetes::kind::Kind,
    rules::traps::limits::{self, LIMIT_EXCEEDED},
};

/// A change of the number of pods of a StatefulSet.
#[derive(Clone, Copy, Debug)]
pub struct Scaling<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The name of the StatefulSet.
    pub name: &'a str,
    /// The number of pods before.
    pub from: i32,
    /// The number of pods after.
    pub to: i32,
}

/// Evaluates a write to the scale subresource of a StatefulSet by the limits of the policy. A view
/// that may be old denies nothing.
pub fn evaluate_scaling(scaling: &Scaling<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let &Scaling { namespace, name, from, to } = scaling;
    let limits = cx.policy.limits.iter().filter(|it| it.covers(namespace, name));
    let mut limits = limits.filter(|it| !it.limits.deletes_claims).peekable();
    if to >= from || limits.peek().is_none() {
        return verdict;
    }
    let view = cx.view.filter(|view| view.covers(namespace));
    let known = view.and_then(|view| match view.freshness(Kind::StatefulSet) {
        Freshness::Fresh => view.inventory.named(Kind::StatefulSet, namespace, name).next(),
        Freshness::Stale { .. } | Freshness::Unknown => None,
    });
    let Some(item) = known else {
        verdict.remarks.push(format!(
            "{}: the policy forbids deleting claims of {name}, but setguard does not see the StatefulSet now, \
             so it is not known whether this deletes any",
            LIMIT_EXCEEDED.id
        ));
        return verdict;
    };
    let Some(scaled) = item.controller().and_then(|it| it.scaled_claims.as_deref()) else {
        return verdict;
    };
    let object = Identity { namespace, name, ignore: item.ignore(), file: None };
    for limit in limits {
        let mut findings = Findings::of(&LIMIT_EXCEEDED);
        let gone = scaled.start + i64::from(to)..scaled.start + i64::from(from);
        limits::scaled_down(name, &scaled.claim, gone, &limit.limits, &mut findings);
        verdict.add_beyond(limit, findings, &object, cx);
    }
    verdict
}

//! Evaluates a write to the scale subresource, by `kubectl scale` or an autoscaler. The write contains only two
//! numbers; everything else comes from the view.

use super::limits::{add_beyond, covering};
use crate::engine::prelude::*;
use crate::{
    kubernetes::kind::Kind,
    rules::limit_exceeded::{self, LIMIT_EXCEEDED, Limits},
};

/// A change of the number of pods of a StatefulSet.
#[derive(Clone, Copy, Debug)]
pub struct Scaling<'a> {
    pub namespace: &'a str,
    /// The name of the StatefulSet.
    pub name: &'a str,
    /// The number of pods before.
    pub from: i32,
    /// The number of pods after.
    pub to: i32,
    /// The StatefulSet's resource version before. `None` if it isn't a number.
    pub version: Option<u64>,
}

/// Evaluates a write to the scale subresource of a StatefulSet against the limits of the policy.
///
/// A view that may be out of date denies nothing. If the view follows the cluster but lacks the last change of this
/// set, the write counts as deleting claims, because that change may make scale-downs delete them.
pub fn evaluate_scaling(scaling: &Scaling<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let &Scaling { namespace, name, from, to, version } = scaling;
    let unknown = Identity::of(namespace, name);
    let mut limits = covering(&unknown, cx).filter(|it| !it.limits.deletes_claims).peekable();
    if to >= from || limits.peek().is_none() {
        return verdict;
    }
    let view = cx.view.filter(|view| view.covers(namespace));
    let view = view.filter(|view| view.freshness(Kind::StatefulSet) == Freshness::Fresh);
    if view.is_some() && (version.is_none() || cx.view_version < version) {
        for limit in limits {
            add_beyond(limit, &unknown, &limit_exceeded::unseen, cx, &mut verdict);
        }
        verdict.awaits = version;
        return verdict;
    }
    let known =
        view.and_then(|view| view.inventory.named(Kind::StatefulSet, namespace, name).next());
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
    let object = Identity { namespace, name, file: None, ..Identity::from(item) };
    for limit in limits {
        let gone = || scaled.start + i64::from(to)..scaled.start + i64::from(from);
        let find = |limits: &Limits, found: &mut Findings| {
            if !limits.deletes_claims {
                limit_exceeded::scaled_down(name, &scaled.claim, gone(), limits, found);
            }
        };
        add_beyond(limit, &object, &find, cx, &mut verdict);
    }
    verdict
}

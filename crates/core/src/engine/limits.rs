use std::cell::OnceCell;

use super::permit::{self, Permit};
use crate::engine::prelude::*;
use crate::{
    kubernetes::kind::Kind,
    policy::limit::Limit,
    rules::{
        daemon_leaves_nodes,
        limit_exceeded::{self, Consequence, LIMIT_EXCEEDED, Leaving, Limits, Wave},
        rule::inventory::Query,
    },
};

pub(super) fn add(subject: &Subject<'_>, cx: &Context<'_>, verdict: &mut Verdict) {
    let object = Identity::from(&subject.object.metadata);
    let cluster = cx.policy.cluster.for_resource(subject.object.resource);
    let lost = OnceCell::new();
    for limit in covering(&object, cx) {
        let lost = *lost.get_or_init(|| leaving(subject, cx));
        let find = |limits: &Limits, found: &mut Findings| {
            limit_exceeded::exceeded(subject, &cluster, limits, lost, found);
        };
        add_beyond(limit, &object, &find, cx, verdict);
        verdict.remark(limit_exceeded::not_applied(subject, &cluster, &limit.limits));
    }
}

/// Evaluates the waves of a rollout, simulated from the existing pods. The verdict contains only what evaluating the
/// object alone cannot find.
pub fn evaluate_rollout(subject: &Subject<'_>, wave: &Wave, cx: &Context<'_>) -> Verdict {
    let (object, mut verdict) = (Identity::from(&subject.object.metadata), Verdict::default());
    let cluster = cx.policy.cluster.for_resource(subject.object.resource);
    for limit in covering(&object, cx) {
        let find = |limits: &Limits, found: &mut Findings| {
            limit_exceeded::simulated(subject, &cluster, limits, wave, found);
        };
        add_beyond(limit, &object, &find, cx, &mut verdict);
    }
    verdict
}

pub(super) fn add_nodes(
    query: &Query<'_>,
    item: &ObjectSummary,
    cx: &Context<'_>,
    verdict: &mut Verdict,
) {
    let object = item.into();
    let mut limits = covering(&object, cx).peekable();
    if limits.peek().is_none() {
        return;
    }
    let Some(leaving) = daemon_leaves_nodes::leaving(query) else { return };
    for limit in limits {
        let find = |limits: &Limits, found: &mut Findings| {
            limit_exceeded::from_nodes(limits, Some(leaving.counts()), found);
        };
        add_beyond(limit, &object, &find, cx, verdict);
    }
}

pub(super) fn covering<'a>(
    object: &Identity<'a>,
    cx: &Context<'a>,
) -> impl Iterator<Item = &'a Limit> {
    let (namespace, name) = (object.namespace, object.name);
    cx.policy.limits.iter().filter(move |limit| limit.covers(namespace, name))
}

/// Findings that the object's annotation permits are only counted, as with an exception.
pub(super) fn add_beyond(
    limit: &Limit,
    object: &Identity<'_>,
    find: &dyn Fn(&Limits, &mut Findings),
    cx: &Context<'_>,
    verdict: &mut Verdict,
) {
    let beyond = |limits: &Limits| {
        let mut findings = Findings::of(LIMIT_EXCEEDED);
        find(limits, &mut findings);
        let mut own = Verdict::default();
        own.add_all(findings, object, |_| false, cx);
        own.at_most(limit.mode);
        own
    };
    let Some(text) = object.exceed.filter(|_| !cx.no_ignores) else {
        verdict.join(beyond(&limit.limits));
        return;
    };
    let (permits, remarks) = permit::read(text, limit, cx);
    let is_granted = |one: Consequence| {
        permits.iter().any(|it| matches!(it, Permit::Granted(granted, _) if *granted == one))
    };
    verdict.join(beyond(&limit.limits.only(|one| !is_granted(one))));
    verdict.remark(remarks);
    for permit in &permits {
        match permit {
            Permit::Granted(consequence, text) => {
                let mut own = beyond(&limit.limits.only(|one| one == *consequence));
                for it in &mut own.violations {
                    it.lower(Mode::Audit, Why::Permit(text.clone()));
                }
                verdict.join(own);
            }
            Permit::Refused(consequence, why) => {
                let own = beyond(&limit.limits.only(|one| one == *consequence));
                if own.violations.iter().any(|it| it.mode > Mode::Audit)
                    && !is_granted(*consequence)
                {
                    verdict.remark([why.clone()]);
                }
            }
        }
    }
}

/// `None` unless the nodes are certain.
fn leaving(subject: &Subject<'_>, cx: &Context<'_>) -> Leaving {
    let is_certain = |view: &&View| view.freshness(Kind::Node) == Freshness::Fresh;
    let view = cx.view.filter(is_certain)?;
    let old = subject.old_alone()?.summary();
    let old = || Some(old);
    let query = Query::in_cluster(view, subject, &cx.policy.cluster).changed_from(&old);
    daemon_leaves_nodes::leaving(&query).map(|it| it.counts())
}

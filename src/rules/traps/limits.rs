//! The rule that reports a change with consequences that the policy forbids.

mod removed;
mod settings;

pub use super::read::{Cause, Wave};

pub use self::{
    removed::{Leaving, from_nodes, scaled_down, unseen},
    settings::{Consequence, Limits},
};
use super::{
    claims_deleted_on_scale_down, ordered_rollout_stuck, parallel_rollout_stuck,
    read::{pace, wave},
    rollout_blocked,
};
use crate::{
    finding::{Findings, Meta, Mode, Reason},
    kubernetes::{cluster::Cluster, kind::Kind},
    object::Subject,
    rules::rule::{Cel, Rule},
};

/// The kinds of object that have limits.
pub static KINDS: &[Kind] = &[Kind::DaemonSet, Kind::StatefulSet];

/// The rule for consequences that the policy forbids.
pub static LIMIT_EXCEEDED: Meta = Meta {
    id: "limit-exceeded",
    summary: "a change with consequences that the policy forbids",
    why: "\
The `limits` of a policy name consequences that a change must not have in some namespaces: claims that are
deleted with their data, a rollout that cannot end, all pods replaced in one wave, or more pods down at once
than agreed. The rule finds a change that has one of them. It finds nothing without limits.

It compares the old object with the new one: their specs, and the status of the old object. `setguard plan`
also counts in the rollout of the pods in its input. So it is evaluated by the webhook for each update, and by
`setguard check` and `setguard plan` if they have the old object (--against, --against-ref, --live). The pods
that a DaemonSet deletes because its template selects fewer nodes count where the nodes are known: in the
webhook with `inventory.mode: full`, in `setguard check` with nodes in the input or in `--inventory`, and in
`setguard plan` with `--nodes` or `--live`.

`kubectl scale` and autoscalers write the scale subresource, which contains nothing but the number of pods.
The chart sends such writes to the webhook if a limit forbids deleting claims (`webhook.validating.scale`);
the webhook looks up the StatefulSet in its view. If it is not there, the write is allowed with a warning. If
the view lacks the last change of the StatefulSet, the webhook waits for it for at most two seconds, and then
refuses the write.

A change can also have consequences because of an earlier one: a new template with OnDelete, a partition or a
low `maxUnavailable` does no harm, and the next change, to RollingUpdate, no partition or `100%`, replaces all
pods. So the pods that have an older template count, by the status of the old object, with the strategy of the
new one. While the status is older than the last change, all pods count as old. A change after which no more
pods are down than without it is no reason to refuse.

A percentage is of the pods that the old object has, and is rounded up, so that a set of three can be updated
pod by pod under a limit of 25%. An exception of the policy, with a reason and a last day, lifts the limit for
the objects that it names. Users whom the limit lists in `mayExceed` can lift it themselves, with the
annotation `setguard.io/exceed`, which names the limit and a last day.",
    bad: include_str!("examples/limit-exceeded.bad.yaml"),
    good: include_str!("examples/limit-exceeded.good.yaml"),
    mode: Mode::Deny,
    adjustable: true,
};

/// Returns the expressions for a change that deletes claims.
pub const fn deletes_claims_in_cel() -> &'static Cel {
    &claims_deleted_on_scale_down::CEL
}

/// Reports the consequences of an update that are beyond the limits. `leaving` is known only where the
/// nodes are.
pub fn exceeded(
    subject: &Subject<'_>,
    cluster: &Cluster,
    limits: &Limits,
    leaving: Leaving,
    found: &mut Findings,
) {
    let run = |rule: &Rule, found: &mut Findings| {
        if rule.applies_to(&subject.object) {
            rule.run(subject, cluster, found);
        }
    };
    if !limits.deletes_claims {
        of_rules(
            &[&claims_deleted_on_scale_down::RULE],
            &run,
            &limits.why(Consequence::DeletesClaims),
            found,
        );
    }
    if !limits.never_ends {
        let rules =
            [&ordered_rollout_stuck::RULE, &parallel_rollout_stuck::RULE, &rollout_blocked::RULE];
        of_rules(&rules, &run, &limits.why(Consequence::NeverEnds), found);
    }
    from_nodes(limits, leaving, found);
    if let Some(wave) = beyond(subject, cluster, limits) {
        report(&wave, &limits.beyond(&wave), limits, found);
    }
}

/// Reports the consequences of a simulated rollout that are beyond the limits, except those that the status of
/// the old object shows too.
pub fn simulated(
    subject: &Subject<'_>,
    cluster: &Cluster,
    limits: &Limits,
    wave: &Wave,
    found: &mut Findings,
) {
    let shown = beyond(subject, cluster, limits).map(|it| limits.beyond(&it));
    let mut exceeded = limits.beyond(wave);
    exceeded.retain(|it| !shown.as_ref().is_some_and(|shown| shown.contains(it)));
    report(wave, &exceeded, limits, found);
}

/// Returns the waves of an update, if they are beyond the limits.
fn beyond(subject: &Subject<'_>, cluster: &Cluster, limits: &Limits) -> Option<Wave> {
    let is_beyond = |it: &Wave| !limits.beyond(it).is_empty();
    pace(subject, cluster).filter(is_beyond)?;
    wave(subject, cluster).filter(is_beyond)
}

fn report(wave: &Wave, exceeded: &[Consequence], limits: &Limits, found: &mut Findings) {
    let Wave { down, all, cause, .. } = *wave;
    for consequence in exceeded {
        let (what, most) = match consequence {
            Consequence::ReplacesAll => (format!("replaces all {all} pods at once"), None),
            _ => (format!("takes down {down} of {all} pods at a time"), limits.most_of(all)),
        };
        let most = most.map_or("lower maxUnavailable".to_owned(), |most| {
            format!("maxUnavailable of at most {most}")
        });
        found.report_at(
            cause.field(),
            Reason::Forbidden,
            format!("this change {what}{}; {}", cause.why(), limits.why(*consequence)),
            format!("use a {most}, or ask for an exception of the policy"),
        );
    }
}

/// Reports what rules find, as a consequence that a limit forbids. `why` is the reason.
fn of_rules(rules: &[&Rule], run: &dyn Fn(&Rule, &mut Findings), why: &str, found: &mut Findings) {
    for rule in rules {
        let mut own = Findings::of(&LIMIT_EXCEEDED);
        run(rule, &mut own);
        for finding in own.into_vec() {
            let message = format!("{}; {why}", finding.message);
            let help = finding.help.unwrap_or_default();
            found.report_at(finding.field, Reason::Forbidden, message, help);
        }
    }
}

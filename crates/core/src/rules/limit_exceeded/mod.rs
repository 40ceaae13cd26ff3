mod removed;
mod settings;

use std::mem::discriminant;

pub use self::{
    removed::{Leaving, from_nodes, scaled_down, unseen},
    settings::{Consequence, Limits},
};
pub use super::read::{Cause, Wave};
use super::{
    claims_deleted_on_scale_down, ordered_rollout_stuck, parallel_rollout_stuck,
    read::{daemon_set_status, pace, wave},
    rollout_blocked,
};
use crate::kubernetes::int_or_percent::{number, percentage, shown};
use crate::rules::prelude::*;

/// The rule for consequences that the policy forbids.
pub static RULE: Rule = rule! {
    id: "limit-exceeded", group: Guard, mode: Mode::Deny;
    title: "the policy forbids these consequences",
    summary: "a change with consequences that the policy forbids",
    scopes: [Scope::Engine { kinds: SETS, by: &[Runner::Check, Runner::Validate] }],
};

/// The description of this rule.
pub static LIMIT_EXCEEDED: &Meta = &RULE.meta;

/// Returns the CEL expressions for a change that deletes claims.
pub fn deletes_claims_in_cel() -> Option<&'static Cel> {
    claims_deleted_on_scale_down::RULE.cel.map(|read| read())
}

/// Reports where an update exceeds the limits. `leaving` is `None` without nodes.
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
    if let Some((most, cause)) = of_unknown_pods(subject, cluster) {
        report_share(most, cause, limits, found);
    }
    if let Some(wave) = beyond(subject, cluster, limits) {
        report(&wave, &limits.beyond(&wave), limits, found);
    }
}

/// Reports where a simulated rollout exceeds the limits, except for what the old object's status already shows.
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

/// `None` within the limits.
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
        let message = format!("this change {what}{}; {}", cause.why(), limits.why(*consequence));
        let help = format!("use a {most}, or ask for an exception of the policy");
        found.report(cause.field(), Reason::Forbidden, message, help);
    }
}

/// The `maxUnavailable` of a rollout, if the old object shows no number of pods: a DaemonSet without a status, or a
/// StatefulSet that leaves `replicas` to an autoscaler.
fn of_unknown_pods<'a>(
    subject: &'a Subject<'_>,
    cluster: &Cluster,
) -> Option<(&'a IntOrString, Cause)> {
    let old = subject.old().filter(|old| match (&old.workload, &subject.object.workload) {
        (Workload::StatefulSet(old), Workload::StatefulSet(new)) => {
            cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET)
                && old.leaves_out_replicas
                && new.leaves_out_replicas
        }
        _ => daemon_set_status(old).is_none(),
    })?;
    let most = most_unavailable(&subject.object)?;
    let cause = match subject.template_changes(cluster) {
        true => Cause::Template,
        false => Cause::StrategyUnobserved,
    };
    let before = most_unavailable(old).filter(|it| discriminant(*it) == discriminant(most));
    let is_more = before.is_none_or(|before| number(most) > number(before));
    (cause == Cause::Template || is_more).then_some((most, cause))
}

/// `None` if no rollout begins by itself, or if it replaces one pod at a time whatever the number of pods.
fn most_unavailable<'a, T>(object: &'a Object<'_, T>) -> Option<&'a IntOrString> {
    (object.strategy() != Some("OnDelete")).then_some(())?;
    match &object.workload {
        Workload::DaemonSet(spec) => {
            let rolling = spec.update_strategy.as_ref().and_then(|it| it.rolling_update.as_ref());
            let most = rolling.and_then(|it| it.max_unavailable.as_ref());
            Some(most.unwrap_or(&IntOrString::Int(1)))
        }
        Workload::StatefulSet(spec) => {
            let rolling = spec.update_strategy.as_ref()?.rolling_update.as_ref()?;
            rolling.max_unavailable.as_ref().filter(|it| **it != IntOrString::Int(1))
        }
    }
}

/// Returns a remark if a limit cannot apply to a set, because it depends on the unknown number of pods.
pub fn not_applied(subject: &Subject<'_>, cluster: &Cluster, limits: &Limits) -> Option<String> {
    let (value, _) = of_unknown_pods(subject, cluster)?;
    let unlike =
        limits.at_most_unavailable.as_ref().filter(|it| discriminant(*it) != discriminant(value));
    let limit = match (unlike, percentage(value)) {
        (Some(limit), _) => format!("atMostUnavailable: {}", shown(limit)),
        // One node is always all of one, and up to half of the nodes are never all of two.
        (None, share)
            if !limits.replaces_all
                && share.map_or(number(value) > 1, |it| (51..100).contains(&it)) =>
        {
            "replacesAll: false".to_owned()
        }
        _ => return None,
    };
    let why = match &subject.object.workload {
        Workload::DaemonSet(_) => {
            "the previous object has no status, so it is unknown how many nodes"
        }
        Workload::StatefulSet(_) => {
            "the manifest leaves out replicas, so it is unknown how many pods"
        }
    };
    Some(format!("the limit {limit} is not applied: {why} maxUnavailable: {} means", shown(value)))
}

fn report_share(most: &IntOrString, cause: Cause, limits: &Limits, found: &mut Findings) {
    let field = cause.field();
    if percentage(most) == Some(100) && !limits.replaces_all {
        let message = format!(
            "this change replaces all pods at once{}; {}",
            cause.why(),
            limits.why(Consequence::ReplacesAll)
        );
        let help = "use a lower maxUnavailable, or ask for an exception of the policy";
        found.report(field.clone(), Reason::Forbidden, message, help);
    }
    let Some(limit) = &limits.at_most_unavailable else { return };
    if discriminant(most) == discriminant(limit) && number(most) > number(limit) {
        let message = format!(
            "this change takes down {}pods at a time{}; {}",
            match most {
                IntOrString::Int(number) => format!("{number} "),
                IntOrString::String(share) => format!("{share} of the "),
            },
            cause.why(),
            limits.why(Consequence::AtMostUnavailable)
        );
        let help = format!(
            "use a maxUnavailable of at most {}, or ask for an exception of the policy",
            shown(limit)
        );
        found.report(field, Reason::Forbidden, message, help);
    }
}

/// `why` is the reason for the limit.
fn of_rules(rules: &[&Rule], run: &dyn Fn(&Rule, &mut Findings), why: &str, found: &mut Findings) {
    for rule in rules {
        let mut own = Findings::of(LIMIT_EXCEEDED);
        run(rule, &mut own);
        for finding in own.into_vec() {
            let message = format!("{}; {why}", finding.message);
            let help = finding.help.unwrap_or_default();
            found.report(finding.field, Reason::Forbidden, message, help);
        }
    }
}

//! The rule that reports a change with consequences that the policy forbids.

mod wave;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use self::wave::{Wave, wave};
use super::{
    claims_deleted_on_scale_down, ordered_rollout_stuck, parallel_rollout_stuck, read::scaled,
    rollout_blocked,
};
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::{cluster::Cluster, kind::Kind},
    object::Subject,
    rules::rule::Rule,
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

It compares the old object with the new one: their specs, and the status of the old object, as
`setguard plan` does without pods. So it is evaluated by the webhook for each update, and by
`setguard check` and `setguard plan` if they have the old object (--against, --against-ref, --live). It cannot
see `kubectl scale` and autoscalers: they use the scale subresource.

A percentage is of the pods that the old object has, and is rounded up, so that a set of three can be updated
pod by pod under a limit of 25%. An exception of the policy, with a reason and a last day, lifts the limit for
the objects that it names.",
    bad: include_str!("examples/limit-exceeded.bad.yaml"),
    good: include_str!("examples/limit-exceeded.good.yaml"),
    mode: Mode::Deny,
    adjustable: true,
};

/// The consequences that a change must not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The number of pods, or the share of the pods that there are, that may be down at once.
    pub at_most_unavailable: Option<IntOrString>,
    /// Whether claims may be deleted.
    pub deletes_claims: bool,
    /// Whether a rollout may begin that cannot end.
    pub never_ends: bool,
    /// Whether all pods may be replaced in one wave.
    pub replaces_all: bool,
    /// The reason for the limits.
    pub reason: String,
}

/// Reports the consequences of an update that are beyond the limits.
pub fn exceeded(subject: &Subject<'_>, cluster: &Cluster, limits: &Limits, found: &mut Findings) {
    if !limits.deletes_claims {
        of_rules(
            &[&claims_deleted_on_scale_down::RULE],
            "deletesClaims",
            limits,
            subject,
            cluster,
            found,
        );
    }
    if !limits.never_ends {
        let rules =
            [&ordered_rollout_stuck::RULE, &parallel_rollout_stuck::RULE, &rollout_blocked::RULE];
        of_rules(&rules, "neverEnds", limits, subject, cluster, found);
    }
    let Some(Wave { down, all }) = wave(subject, cluster) else { return };
    let template = SPEC.child("template");
    let why = |limit: &str| format!("the policy forbids it by {limit} ({})", limits.reason.trim());
    if !limits.replaces_all && all > 1 && down >= all {
        found.report(
            &template,
            Reason::Forbidden,
            format!("this change replaces all {all} pods at once; {}", why("replacesAll: false")),
            "use a lower maxUnavailable, or ask for an exception of the policy",
        );
    }
    let most = limits.at_most_unavailable.as_ref();
    if let Some((most, value)) =
        most.and_then(|most| Some((scaled(most, all.try_into().ok()?, true)?, most)))
        && down > most
    {
        let limit = match value {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => text.clone(),
        };
        found.report(
            &template,
            Reason::Forbidden,
            format!(
                "this change takes down {down} of {all} pods at a time; {}",
                why(&format!("atMostUnavailable: {limit}"))
            ),
            format!(
                "use a maxUnavailable of at most {most}, or ask for an exception of the policy"
            ),
        );
    }
}

/// Reports what rules find, as a consequence that a limit forbids.
fn of_rules(
    rules: &[&Rule],
    limit: &str,
    limits: &Limits,
    subject: &Subject<'_>,
    cluster: &Cluster,
    found: &mut Findings,
) {
    for rule in rules.iter().filter(|rule| rule.applies_to(&subject.object)) {
        let mut own = Findings::of(&LIMIT_EXCEEDED);
        rule.run(subject, cluster, &mut own);
        for finding in own.into_vec() {
            let reason = limits.reason.trim();
            let message =
                format!("{}; the policy forbids it by {limit}: false ({reason})", finding.message);
            found.report_at(
                finding.field,
                Reason::Forbidden,
                message,
                finding.help.unwrap_or_default(),
            );
        }
    }
}

//! A change that the policy's limits forbid.

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
use crate::rules::prelude::*;
use crate::rules::rule::SETS;

/// The rule for consequences that the policy forbids.
pub static RULE: Rule = rule! {
    id: "limit-exceeded",
    title: "the policy forbids these consequences",
    summary: "a change with consequences that the policy forbids",
    group: Guard,
    mode: Mode::Deny,
    scopes: [Scope::Engine { kinds: SETS, by: &[Runner::Check, Runner::Validate] }],
};

/// The description of this rule.
pub static LIMIT_EXCEEDED: &Meta = &RULE.meta;

/// Returns the CEL expressions for a change that deletes claims.
pub const fn deletes_claims_in_cel() -> &'static Cel {
    &claims_deleted_on_scale_down::CEL
}

/// Reports where an update exceeds the limits. `leaving` is `None` unless the nodes are known.
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
        found.report_at(
            cause.field(),
            Reason::Forbidden,
            format!("this change {what}{}; {}", cause.why(), limits.why(*consequence)),
            format!("use a {most}, or ask for an exception of the policy"),
        );
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
            found.report_at(finding.field, Reason::Forbidden, message, help);
        }
    }
}

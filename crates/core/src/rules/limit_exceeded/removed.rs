//! Limits on pods and claims that a change removes without a rollout.

use super::settings::{Consequence, Limits};
use crate::rules::prelude::*;
use crate::rules::read::pod_names;

/// How many nodes lose their pod through an update, and how many had one.
pub type Leaving = Option<(usize, usize)>;

/// Reports the claims that a write to the scale subresource deletes. `claim` is the name of a claim template, and
/// `gone` contains the removed ordinals.
pub fn scaled_down(
    name: &str,
    claim: &str,
    gone: Range<i64>,
    limits: &Limits,
    found: &mut Findings,
) {
    let first = gone.start;
    let message = format!(
        "this removes {}, and whenScaled Delete also deletes the claims of each removed pod, such as \
         {claim}-{name}-{first}; {}",
        pod_names(name, &gone),
        limits.why(Consequence::DeletesClaims)
    );
    let help = "set whenScaled to Retain unless the data is safe elsewhere, or ask for an exception of the policy";
    found.report(&SPEC.child("replicas"), Reason::Forbidden, message, help);
}

/// Reports a scale-down of a StatefulSet while setguard has not seen the set's last change.
pub fn unseen(limits: &Limits, found: &mut Findings) {
    if limits.deletes_claims {
        return;
    }
    let message = format!(
        "setguard does not see the last change of the StatefulSet yet, so it is not known whether this deletes \
         claims; {}",
        limits.why(Consequence::DeletesClaims)
    );
    let help = "try again in a few seconds";
    found.report(&SPEC.child("replicas"), Reason::Forbidden, message, help);
}

/// Reports that a DaemonSet's pods are deleted from nodes. `maxUnavailable` does not slow this down.
pub fn from_nodes(limits: &Limits, leaving: Leaving, found: &mut Findings) {
    let Some((left, all)) = leaving else { return };
    let (left, all) =
        (i64::try_from(left).unwrap_or(i64::MAX), i64::try_from(all).unwrap_or(i64::MAX));
    let limit = match limits.most_of(all) {
        Some(most) if left > most => Consequence::AtMostUnavailable,
        _ if !limits.replaces_all && all > 1 && left >= all => Consequence::ReplacesAll,
        _ => return,
    };
    let message = format!(
        "this change deletes the pods on {left} of {all} nodes at once, because the template does not select \
         these nodes any more; {}",
        limits.why(limit)
    );
    let help = "correct nodeSelector and node affinity, or ask for an exception of the policy";
    found.report(&POD_SPEC, Reason::Forbidden, message, help);
}

//! API validation errors in a review that the API server has accepted.
//!
//! The API server validates an object before it calls a validating webhook. So an error that depends on the release or
//! on feature gates shows that setguard assumes the wrong ones. Then it would be wrong to deny the object in the API
//! server's own words.

use super::context::Origin;
use crate::engine::prelude::*;
use crate::{
    kubernetes::cluster::{ApiServer, Cluster},
    rules::api_validation::{self, API_VALIDATION},
};

const HELP: &str = "the API server accepts it: it has another release or other feature gates than setguard knows; \
                    name them under kubernetes in the policy, or use a newer setguard";

/// Turns denials that depend on the release or on feature gates into warnings. If the API server never reported its
/// release, they stay: such a review may contain an object that no API server has validated.
pub(super) fn soften(subject: &Subject<'_>, cx: &Context<'_>, verdict: &mut Verdict) {
    // A CustomResourceDefinition validates less than setguard.
    let is_seen = cx.policy.cluster.api_server != ApiServer::Unseen;
    if cx.origin != Origin::Admission || !is_seen || subject.object.resource.is_kruise() {
        return;
    }
    let is_denial = |rule: &Meta, mode| rule == API_VALIDATION && mode == Mode::Deny;
    let mut denials =
        verdict.violations.iter_mut().filter(|it| is_denial(it.finding.rule, it.mode)).peekable();
    if denials.peek().is_none() {
        return;
    }
    let elsewhere = Cluster::extremes().map(|cluster| {
        let mut found = Findings::of(API_VALIDATION);
        api_validation::validate(subject, &cluster, &mut found);
        found.into_vec()
    });
    for violation in denials {
        let finding = &mut violation.finding;
        let is_accepted = |found: &Vec<Finding>| !found.iter().any(|it| is_about(it, finding));
        if cx.policy.cluster.api_server == ApiServer::Newer || elsewhere.iter().any(is_accepted) {
            finding.help = Some(HELP.into());
            violation.mode = Mode::Warn;
        }
    }
}

fn is_about(finding: &Finding, other: &Finding) -> bool {
    let [one, other] = [finding, other].map(|it| it.field.to_string());
    finding.rule == API_VALIDATION && (one.starts_with(&other) || other.starts_with(&one))
}

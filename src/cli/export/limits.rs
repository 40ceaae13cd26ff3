//! The limits of the policy as ValidatingAdmissionPolicies.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use setguard_core::{
    kubernetes::{cluster::MAX_UNAVAILABLE_STATEFUL_SET, int_or_percent, kind::Kind},
    object::annotations::EXCEED_ANNOTATION,
    policy::limit::Limit,
    rules::limit_exceeded::{Consequence, LIMIT_EXCEEDED, deletes_claims_in_cel},
};

use super::{
    conditions::{Exceptions, about, expand, listed, resource},
    objects::{self, SUFFIX, condition, matched, not_in_deletion, validating, validation},
    vap::any_part,
};
use crate::cli::prelude::*;

const LIMITED: [Kind; 2] = [Kind::DaemonSet, Kind::StatefulSet];

pub(super) const MISSED: &str = "limit-exceeded does not find a rollout that cannot end (neverEnds), nodes that a DaemonSet leaves, \
     pods that an earlier change removes and that still exist (deletesClaims), kubectl scale, nor whether the last day of an annotation setguard.io/exceed is over.";

/// CEL that is true if more pods go down than without the update.
const GROWS: &str = "variables.down > variables.before";

struct Forbidden {
    /// CEL that is true for a change with the consequence.
    fault: String,
    /// CEL for a description of the change.
    message: String,
    help: &'static str,
}

pub(super) fn policies(policy: &Policy, exceptions: &Exceptions) -> Vec<Value> {
    let mut objects = Vec::new();
    for (i, limit) in policy.limits.iter().enumerate() {
        let mode = limit.mode.min(policy.mode(LIMIT_EXCEEDED));
        for kind in LIMITED.iter().filter(|_| mode != Mode::Off) {
            let Some(resource) = resource(*kind) else { continue };
            let validations = validations(limit, *kind);
            if validations.is_empty() {
                continue;
            }
            let mut conditions = vec![not_in_deletion()];
            if let Some(covered) = about(&limit.namespaces, &limit.names) {
                conditions.push(condition("covered", covered));
            }
            conditions.extend(exceptions.condition());
            let spec = json!({
                // A failing expression is a bug in setguard and must not block writes.
                "failurePolicy": "Ignore",
                "matchConstraints": matched("apps", &[resource], &["UPDATE"]),
                "matchConditions": conditions,
                "variables": variables(policy, *kind),
                "validations": validations,
            });
            let name = format!("{}-{}.{resource}.{SUFFIX}", LIMIT_EXCEEDED.id, i + 1);
            objects.extend(validating(&name, mode, &spec));
        }
    }
    objects
}

fn validations(limit: &Limit, kind: Kind) -> Vec<Value> {
    let forbidden = Consequence::ALL.into_iter().filter(|it| limit.limits.forbids(*it));
    let validation = |consequence| {
        let Forbidden { fault, message, help } = forbidden_by(limit, consequence, kind)?;
        let help = format!("{}; {help}", limit.limits.why(consequence));
        let message = objects::message(LIMIT_EXCEEDED, &message, &help);
        let holds = match permitted(limit, consequence) {
            Some(permitted) => format!("!({fault}) || ({permitted})"),
            None => format!("!({fault})"),
        };
        Some(validation(&holds, &message, "Forbidden"))
    };
    forbidden.filter_map(validation).collect()
}

/// Returns `None` if CEL cannot express the consequence.
fn forbidden_by(limit: &Limit, consequence: Consequence, kind: Kind) -> Option<Forbidden> {
    let help = "use a lower maxUnavailable, or ask for an exception of the policy";
    match consequence {
        Consequence::DeletesClaims if kind == Kind::StatefulSet => {
            let cel = deletes_claims_in_cel()?;
            let expand = |text: &str| expand(text, "object");
            Some(Forbidden {
                fault: expand(cel.fault),
                message: expand(cel.message),
                help: cel.help,
            })
        }
        Consequence::ReplacesAll => Some(Forbidden {
            fault: format!("variables.all > 1 && variables.down >= variables.all && {GROWS}"),
            message: "'this change replaces all ' + string(variables.all) + ' pods at once'"
                .to_owned(),
            help,
        }),
        Consequence::AtMostUnavailable => {
            let most = match limit.limits.at_most_unavailable.as_ref()? {
                IntOrString::Int(most) => most.to_string(),
                share => {
                    format!("(({} * variables.all + 99) / 100)", int_or_percent::number(share))
                }
            };
            Some(Forbidden {
                fault: format!("variables.down > {most} && {GROWS}"),
                message: "'this change takes down ' + string(variables.down) + ' of ' + \
                          string(variables.all) + ' pods at a time'"
                    .to_owned(),
                help,
            })
        }
        Consequence::DeletesClaims | Consequence::NeverEnds => None,
    }
}

/// The numbers of the webhook's rule: the pods of the old object that have an older template after the update, and how
/// many of them the new and the old strategy take down at a time.
///
/// The API server first compiles expressions without the types of the object, and the elements of a list must have one
/// type, hence `int`.
fn variables(policy: &Policy, kind: Kind) -> Value {
    let status = |field: &str| format!("int(oldObject.?status.?{field}.orValue(0))");
    let gate = policy.cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET);
    let (all, unavailable, old) = match kind {
        Kind::StatefulSet => (
            "int(oldObject.spec.?replicas.orValue(1))".to_owned(),
            format!(
                "{} - int(oldObject.?status.?availableReplicas.orValue(oldObject.?status.?readyReplicas.orValue(0)))",
                status("replicas")
            ),
            format!("{} - {}", status("replicas"), status("updatedReplicas")),
        ),
        _ => (
            status("desiredNumberScheduled"),
            status("numberUnavailable"),
            format!("{} - {}", status("currentNumberScheduled"), status("updatedNumberScheduled")),
        ),
    };
    // The status of the first generation may be missing, and its template has never changed.
    let generation = "oldObject.metadata.?generation.orValue(0)";
    let is_observed = format!("{} >= {generation}", status("observedGeneration"));
    let outdated = format!(
        "variables.changes ? variables.all : {is_observed} ? [[{old}, variables.all].min(), 0].max() : \
         {generation} <= 1 ? 0 : variables.all"
    );
    let (at_once, replaced) = match kind {
        Kind::StatefulSet => {
            let rolled = if gate {
                format!("[{}, 1].max()", scaled("@replicas", "0"))
            } else {
                "1".to_owned()
            };
            let above = "[[variables.all, int(@replicas)].min() - int(@partition), 0].max()";
            // The pods below the partition are the first to be old, unless any pods may be.
            let any = format!(
                "variables.changes || !({is_observed}) || oldObject.spec.?updateStrategy.?type.orValue('') == 'OnDelete'"
            );
            let old = format!("[variables.outdated - ({any} ? 0 : int(@partition)), 0].max()");
            let recreates = "@.spec.?updateStrategy.?type.orValue('') == 'Recreate'";
            (
                format!("({recreates} ? variables.all : @rolls ? {rolled} : 0)"),
                format!("({recreates} ? variables.outdated : @rolls ? [{old}, {above}].min() : 0)"),
            )
        }
        _ => (
            format!("(@rolls ? {} : 0)", scaled("variables.all", "99")),
            "(@rolls ? variables.outdated : 0)".to_owned(),
        ),
    };
    let down = format!(
        "[[{at_once}, variables.unavailable].max(), [variables.unavailable + {replaced}, variables.all].min()].min()"
    );
    let unavailable = format!("[[{unavailable}, variables.all].min(), 0].max()");
    let variable = |name: &str, text: &str, object: &str| json!({ "name": name, "expression": expand(text, object) });
    json!([
        variable("all", &all, "object"),
        variable("changes", "@changes", "object"),
        variable("unavailable", &unavailable, "object"),
        variable("outdated", &outdated, "object"),
        variable("down", &down, "object"),
        // A new template begins a rollout of its own.
        variable(
            "before",
            &format!("variables.changes ? variables.unavailable : {down}"),
            "oldObject"
        ),
    ])
}

/// CEL for `maxUnavailable` as a number; a percentage is of `total`. `round` is 99 to round up, and 0 to round down.
fn scaled(total: &str, round: &str) -> String {
    format!(
        "int([@.spec.updateStrategy.?rollingUpdate.?maxUnavailable.orValue(dyn(1))].map(n, type(n) == int ? int(n) : \
         (int(string(n).replace('%', '')) * {total} + {round}) / 100)[0])"
    )
}

/// CEL that is true if a user on the limit's list asks for the change; `None` if the list is empty.
fn permitted(limit: &Limit, consequence: Consequence) -> Option<String> {
    let who = limit.may_exceed.as_ref()?;
    let is_listed = listed(&who.users, &who.groups)?;
    let part = any_part(EXCEED_ANNOTATION, &format!("{}=", consequence.as_str()));
    Some(format!("({is_listed}) && {part}"))
}

//! The limits of the policy as ValidatingAdmissionPolicies.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};
use setguard_core::{
    finding::Mode,
    kubernetes::{cluster::MAX_UNAVAILABLE_STATEFUL_SET, int_or_percent, kind::Kind},
    object::annotations::EXCEED_ANNOTATION,
    policy::{Policy, limit::Limit},
    rules::limit_exceeded::{Consequence, LIMIT_EXCEEDED, deletes_claims_in_cel},
};

use super::{
    conditions::{Exceptions, about, expand, listed, resource},
    objects::{self, SUFFIX, condition, matched, not_in_deletion, quote, validating, validation},
};

const LIMITED: [Kind; 2] = [Kind::DaemonSet, Kind::StatefulSet];

pub(super) const MISSED: &str = "limit-exceeded does not find a rollout that cannot end (neverEnds), nodes that a DaemonSet leaves, \
     kubectl scale, nor whether the last day of an annotation setguard.io/exceed is over.";

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
            let cel = deletes_claims_in_cel();
            let expand = |text: &str| expand(text, "object");
            Some(Forbidden {
                fault: expand(cel.fault),
                message: expand(cel.message),
                help: cel.help,
            })
        }
        Consequence::ReplacesAll => Some(Forbidden {
            fault: "variables.all > 1 && variables.down >= variables.all && variables.changes"
                .to_owned(),
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
                fault: format!("variables.down > {most} && variables.changes"),
                message: "'this change takes down ' + string(variables.down) + ' of ' + \
                          string(variables.all) + ' pods at a time'"
                    .to_owned(),
                help,
            })
        }
        Consequence::DeletesClaims | Consequence::NeverEnds => None,
    }
}

/// The API server first compiles expressions without the types of the object, and the elements of a list must have one
/// type, hence `int`.
fn variables(policy: &Policy, kind: Kind) -> Value {
    let (all, down) = match kind {
        Kind::StatefulSet => {
            let gate = policy.cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET);
            let at_once = match gate {
                true => format!("[{}, 1].max()", scaled("@replicas", "0")),
                false => "1".to_owned(),
            };
            let replaced = "[[variables.all, int(@replicas)].min() - int(@partition), 0].max()";
            let down = format!(
                "@.spec.?updateStrategy.?type.orValue('') == 'Recreate' ? variables.all : \
                 @rolls ? [{at_once}, {replaced}].min() : 0"
            );
            ("int(oldObject.spec.?replicas.orValue(1))", down)
        }
        _ => {
            let most = scaled("variables.all", "99");
            let down = format!("@rolls ? [{most}, variables.all].min() : 0");
            ("int(oldObject.?status.?desiredNumberScheduled.orValue(0))", down)
        }
    };
    let variable =
        |name: &str, text: &str| json!({ "name": name, "expression": expand(text, "object") });
    json!([variable("all", all), variable("down", &down), variable("changes", "@changes")])
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
    Some(format!(
        "({is_listed}) && object.metadata.?annotations[?{}].orValue('').split(',').exists(p, p.trim().startsWith({}))",
        quote(EXCEED_ANNOTATION),
        quote(&format!("{}=", consequence.as_str())),
    ))
}

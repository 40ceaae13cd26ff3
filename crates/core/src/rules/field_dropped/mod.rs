use serde_json::Value;

use crate::kubernetes::semantic::to_json;
use crate::object::dropped;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "field-dropped", group: Refused;
    title: "the API server drops this field",
    summary: "a field that the API server drops, because its feature gate is off",
    scopes: [Scope::Object {
        phase: Phase::Manifest,
        openkruise: OpenKruise::DoesNotApply,
        check: ObjectCheck::Pod(check),
    }],
};

fn check(spec: &PodSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    // A stored object keeps its fields.
    if subject.object.metadata.is_stored() {
        return;
    }
    for (gate, without) in dropped::disabled(spec, cluster) {
        let Some((spec, without)) = to_json(spec).zip(to_json(&without)) else { continue };
        differences(&POD_SPEC, &spec, &without, &mut |path| {
            found
                .report(
                    path,
                    Reason::Forbidden,
                    format!(
                        "it is dropped without a message because the feature gate {gate} is off \
                     (Kubernetes {})",
                        cluster.version
                    ),
                    format!(
                        "leave it out, or enable the gate in the cluster and check with \
                     --feature-gates {gate}=true"
                    ),
                )
                .planned_if(true);
        });
    }
}

/// Visits the paths that the first value has and the second lacks.
fn differences(path: &Path<'_>, has: &Value, lacks: &Value, visit: &mut dyn FnMut(&Path<'_>)) {
    match (has, lacks) {
        (Value::Object(has), Value::Object(lacks)) => {
            for (key, value) in has {
                let path = path.child(key);
                match lacks.get(key) {
                    Some(other) => differences(&path, value, other, visit),
                    None => visit(&path),
                }
            }
        }
        (Value::Array(has), Value::Array(lacks)) if has.len() == lacks.len() => {
            for (i, (value, other)) in has.iter().zip(lacks).enumerate() {
                differences(&path.index(i), value, other, visit);
            }
        }
        (Value::Array(has), Value::Array(lacks)) => {
            let dropped = has.iter().enumerate().filter(|(_, value)| !lacks.contains(value));
            dropped.for_each(|(i, _)| visit(&path.index(i)));
        }
        _ if has == lacks => {}
        _ => visit(path),
    }
}

//! A field of the pod template that the API server drops, because its feature gate is off.

use serde_json::Value;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::{Subject, dropped},
    rules::rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "field-dropped",
        summary: "a field that the API server drops, because its feature gate is off",
        why: "\
A field of a feature whose gate is off is dropped when the object is created: the API server stores the
object without it and says nothing. `kubectl apply` reports success also with `--validate=strict`, because the
schema has the field. The pods then run without a volume, a restart rule or a probe that the manifest has. A
stored object keeps a field that it already has.

Seen on a 1.34 control plane: of a DaemonSet with `hostnameOverride`, `restartPolicyRules` of a container and
a volume of an image, the stored object has none, and no volumeMount of that volume either. With `fileKeyRef`
in an environment variable it is refused, because the variable is left without a source.

The default of a gate belongs to the release: name the release of the cluster, and the gates that differ, in
the policy or with `--kube-version` and `--feature-gates`. The rule reads manifests only; the webhook gets the
object without the field.

Kubernetes: `dropDisabledFields`, pkg/api/pod/util.go.",
        bad: include_str!("examples/field-dropped.bad.yaml"),
        good: include_str!("examples/field-dropped.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::Manifest,
        openkruise: OpenKruise::DoesNotApply,
        check: ObjectCheck::Both(check),
    },
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
    // A stored object keeps what it has.
    if subject.object.metadata.is_stored() {
        return;
    }
    for (gate, without) in dropped::disabled(spec, cluster) {
        let pair = (serde_json::to_value(spec), serde_json::to_value(without));
        let (Ok(spec), Ok(without)) = pair else { continue };
        differences(&POD_SPEC, &spec, &without, &mut |path| {
            found.report(
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
            );
        });
    }
}

/// Visits the paths of what the first value has and the second doesn't.
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

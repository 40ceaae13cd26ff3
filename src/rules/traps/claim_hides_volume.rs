//! A volume that a claim template of the same name replaces.

use std::collections::HashSet;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::VOLUMES},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "claim-hides-volume",
        summary: "a claim template with the same name as a volume, which it replaces in every pod",
        why: "\
The controller adds a volume for each claim template to every pod, and drops a volume of the pod
template that has the same name. So the ConfigMap, Secret or emptyDir of that name is never mounted:
a volumeMount of that name gets the claim instead. The API server also leaves the hidden volume out
when it validates the template. A hidden emptyDir isn't reported: nothing is lost with it, and charts leave
it there for sets without a claim. Nor is a volume whose `claimName` is the name of the claim template: it
shows that its author meant the claim.

Seen on a 1.36 control plane: with an emptyDir `data` and a claim template `data`, the pod has one
volume `data`, the claim.

Kubernetes: `updateStorage`, pkg/controller/statefulset/stateful_set_utils.go;
`ValidateStatefulSetSpec`, pkg/apis/apps/validation/validation.go.",
        bad: include_str!("examples/claim-hides-volume.bad.yaml"),
        good: include_str!("examples/claim-hides-volume.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@claims@few && @volumes.exists(v, !has(v.emptyDir) && \
        v.?persistentVolumeClaim.?claimName.orValue('') != v.name && \
        @claims.exists(c, c.metadata.?name.orValue('') == v.name))",
    message: "'no pod will have this volume: a claim template with the same name replaces ' + \
        @volumes.filter(v, @claims@few && @claims.exists(c, c.metadata.?name.orValue('') == \
        v.name)).map(v, v.name).join(', ')",
    help: "give one of the two another name, or remove the volume",
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(pod) = spec.template.spec.as_ref() else { return };
    let claims: HashSet<&str> = read::claims(spec).map(|(name, _)| name).collect();
    for (i, volume) in pod.volumes.iter().flatten().enumerate() {
        let claim = volume.persistent_volume_claim.as_ref();
        let is_meant = volume.empty_dir.is_some()
            || claim.is_some_and(|claim| claim.claim_name == volume.name);
        if !is_meant && claims.contains(volume.name.as_str()) {
            found.report(
                &VOLUMES.index(i).child("name"),
                Reason::Duplicate,
                format!(
                    "no pod will have this volume: the claim template {:?} replaces it",
                    volume.name
                ),
                "give one of the two another name, or remove the volume",
            );
        }
    }
}

//! A claim template with metadata that the API server refuses in a claim.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, paths::CLAIM_TEMPLATES},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
    validation::created_claim,
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "claim-metadata-invalid",
        summary: "a claim template with metadata that the API server refuses in a claim",
        why: "\
The API server validates only the `spec` of a claim template, and up to 1.33 not even that. The controller
copies the metadata into each claim that it creates, and only then is it validated: labels, annotations and
their size, finalizers, owner references, generateName. With a fault there, or with a resourceVersion, no
claim can be created, and no pod is created before its claims. The field cannot be changed later. Labels
that the selector has too are harmless: the controller replaces them.

Seen on a 1.36 control plane: each of these was accepted, and the StatefulSet never got a pod: a label
and an annotation with the key `bad key!` (\"FailedCreate: Create Claim data-web-0 for Pod web-0 …
metadata.labels: Invalid value\"), the finalizer `foo`, `orphan` together with `foregroundDeletion`, an owner
without uid, two controllers, annotations of more than 256 KiB, and `resourceVersion: \"5\"`
(\"resourceVersion should not be set on objects to be created\").

Kubernetes: `validateVolumeClaimTemplates`, pkg/apis/apps/validation/validation.go;
`getPersistentVolumeClaims`, pkg/controller/statefulset/stateful_set_utils.go;
`ValidatePersistentVolumeClaim`, pkg/apis/core/validation/validation.go.",
        bad: include_str!("examples/claim-metadata-invalid.bad.yaml"),
        good: include_str!("examples/claim-metadata-invalid.good.yaml"),
        mode: Mode::Deny,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    for (i, (_, claim)) in read::claims(spec).enumerate() {
        created_claim::validate(spec, claim, cluster, &CLAIM_TEMPLATES.index(i), found);
    }
}

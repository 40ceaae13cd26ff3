//! Two claim templates with the same name.

use std::collections::BTreeSet;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::CLAIM_TEMPLATES},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "claim-name-duplicate",
        summary: "volumeClaimTemplates with the same name, of which only the last is used",
        why: "\
The controller keeps the claims of a pod in a map from template name to claim. If two templates have
the same name, the later one replaces the earlier, whose size, class and labels are never used: each
pod gets one volume less than the manifest shows. The API server also puts the templates into a map,
so it sees no duplicate. The field cannot be changed later.

Seen on a 1.36 control plane: with two templates `data` that have different labels, the pod has one
volume and one claim, `data-dup-0`, which has the label of the second.

Kubernetes: `volumesToAddForTemplates`, pkg/apis/apps/validation/validation.go;
`getPersistentVolumeClaims`, pkg/controller/statefulset/stateful_set_utils.go.",
        bad: include_str!("examples/claim-name-duplicate.bad.yaml"),
        good: include_str!("examples/claim-name-duplicate.good.yaml"),
        mode: Mode::Deny,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "[@.spec.?volumeClaimTemplates.orValue([]).map(c, c.metadata.?name.orValue(''))]@twice",
    message: "'claim templates with the same name: each pod will get only one claim for them, made \
        from the last'",
    help: "give each claim template a different name",
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let mut names = BTreeSet::new();
    for (i, (name, _)) in read::claims(spec).enumerate() {
        if !names.insert(name) {
            found.report(
                &CLAIM_TEMPLATES.index(i).child("metadata").child("name"),
                Reason::Duplicate,
                format!(
                    "more than one claim template is named {name:?}, and each pod will get only \
                     one claim for them, made from the last"
                ),
                "give each claim template a different name",
            );
        }
    }
}

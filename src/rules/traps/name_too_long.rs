//! A name that leaves no room for what the controller appends to it.

use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::METADATA},
    kubernetes::{cluster::Cluster, resource::WorkloadKind},
    object::Subject,
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "name-too-long",
        summary: "a name so long that the controller cannot create pods",
        why: "\
The controller appends `-` and a hash of the template to the name. The hash usually has 10 characters. For a
StatefulSet the result is the value of the label `controller-revision-hash` on each pod. A label value can
have 63 characters, so the name can have at most 52. For a DaemonSet the result is the name of a
ControllerRevision. That can have 253 characters, so the name can have at most 242. The API server accepts
names of up to 63 and 253 characters.

A shorter hash makes room for a longer name: one template in four has 9 characters, one in fifty has 8. Such
a set gets its pods, and stops with the first change of its template whose hash is longer.

Seen on a 1.36 control plane: StatefulSets with names of 52, 53, 54 and 57 characters are all accepted;
only the one with 52 gets pods, the others report FailedCreate forever.

Kubernetes: `setPodRevision`, pkg/controller/statefulset/stateful_set_utils.go;
`ControllerRevisionName`, pkg/controller/history/controller_history.go; `snapshot`,
pkg/controller/daemon/update.go.",
        bad: include_str!("examples/name-too-long.bad.yaml"),
        good: include_str!("examples/name-too-long.good.yaml"),
        mode: Mode::Deny,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@.metadata.name.size() > (@.kind == 'StatefulSet' ? 52 : 242)",
    message: "'with a name of ' + string(@.metadata.name.size()) + ' characters no pod can be \
        created, unless the template happens to have a short hash, which the controller \
        appends to it'",
    help: "use a shorter name: 52 characters for a StatefulSet, 242 for a DaemonSet",
    ..Cel::EMPTY
};

/// A hyphen and a hash: 32 bits in decimal, which are mostly 10 characters.
const APPENDED: usize = 11;
/// The API server cuts `generateName` to [`GENERATED_BASE`] characters and appends this many.
const GENERATED: usize = 5;
const GENERATED_BASE: usize = 58;

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let (limit, becomes) = match subject.object.kind() {
        WorkloadKind::StatefulSet => (63 - APPENDED, "the pod label controller-revision-hash"),
        WorkloadKind::DaemonSet => (253 - APPENDED, "the name of a ControllerRevision"),
    };
    let given = subject.object.metadata.name.as_deref().filter(|name| !name.is_empty());
    let (field, length, room) = match (given, subject.object.metadata.generate_name.as_deref()) {
        (Some(name), _) => ("name", name.len(), limit),
        (None, Some(prefix)) => {
            ("generateName", prefix.len().min(GENERATED_BASE) + GENERATED, limit - GENERATED)
        }
        (None, None) => return,
    };
    if length > limit {
        found.report(
            &METADATA.child(field),
            Reason::TooLong,
            format!(
                "with a name of {length} characters no pod can be created, unless the template \
                 happens to have a short hash: the controller appends it to make {becomes}, which \
                 leaves room for {limit} characters"
            ),
            format!("use a {field} of at most {room} characters"),
        );
    }
}

//! A volume of the removed kind gitRepo.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::VOLUMES},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "git-repo-volume",
        summary: "a gitRepo volume, which the kubelet no longer mounts",
        why: "\
The kubelet does not mount `gitRepo` volumes, because a repository could run commands on the node with them.
The pods stay in ContainerCreating. Up to Kubernetes 1.35 the feature gate GitRepoVolumeDriver turns them on
again; since 1.36 nothing does, although the API server still accepts them.

Seen on a 1.34 control plane: the object is accepted, with a warning that gitRepo is disabled by default. That
the pod does not start is read from the source, because it happens in the kubelet.

Kubernetes: `gitRepoPlugin`, pkg/volume/git_repo/git_repo.go; KEP 5040.",
        bad: include_str!("examples/git-repo-volume.bad.yaml"),
        good: include_str!("examples/git-repo-volume.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@pod.?volumes.orValue([]).exists(v, has(v.gitRepo))",
    message: "'the kubelet does not mount a gitRepo volume, so the pods never start'",
    help: "clone the repository into an emptyDir volume, in an init container",
    ..Cel::EMPTY
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let volumes = spec.and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    for (i, volume) in volumes.iter().enumerate() {
        if volume.git_repo.is_some() {
            found.report(
                &VOLUMES.index(i).child("gitRepo"),
                Reason::Invalid,
                "the kubelet does not mount it, so the pods never start",
                "clone the repository into an emptyDir volume, in an init container",
            );
        }
    }
}

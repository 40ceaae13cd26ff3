//! A volume of the removed kind gitRepo.

use super::read;
use crate::{finding::{Findings, Mode, Reason, paths::VOLUMES}, kubernetes::cluster::Cluster, object::Subject, rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope}};

pub(super) static RULE: Rule = Rule {
    meta: meta! {
        id: "git-repo-volume",
        title: "gitRepo volumes are no longer mounted",
        summary: "a gitRepo volume, which the kubelet no longer mounts",
        mode: Mode::Warn,
        adjustable: true,
    },
    scopes: &[Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    }],
    cel: Some(&CEL),
};

static CEL: Cel = Cel {
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

use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, ResourceFieldSelector};

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "resource-container-missing", group: NeverStarts;
    title: "the pod has no container of this name",
    summary: "a resourceFieldRef to a container that the pod does not have",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Kubernetes: `findContainerInPod`, pkg/api/v1/resource/helpers.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    // Then it is a patch: other containers are elsewhere.
    if containers(spec).any(|it| it.image.is_none()) {
        return;
    }
    let mut report = |it: Option<&ResourceFieldSelector>, effect: &str, path: &Path<'_>| {
        let Some(name) = it.map(|it| text(&it.container_name)).filter(|it| !it.is_empty()) else {
            return;
        };
        let mut names = containers(spec).map(|it| it.name.as_str());
        if names.clone().any(|it| it == name) {
            return;
        }
        let help = match nearest_of(name, names.clone()).or_else(|| names.next_back()) {
            Some(near) => {
                format!("write {near}, unless something adds a container {name} to the pods")
            }
            None => "name a container of the pod".to_owned(),
        };
        let message = format!("the pod has no container {name:?}, so {effect}");
        let path = path.below("resourceFieldRef.containerName");
        found.report(&path, Reason::NotFound, message, help).planned_if(true);
    };
    visit(spec, &POD_SPEC, &mut |container, path| {
        for (i, env) in list(&container.env).iter().enumerate() {
            let from = env.value_from.as_ref().and_then(|it| it.resource_field_ref.as_ref());
            let effect = "this container never starts (CreateContainerConfigError)";
            report(from, effect, &path.item("env", i).child("valueFrom"));
        }
    });
    let mut report_files = |items: &Option<Vec<DownwardAPIVolumeFile>>, path: &Path<'_>| {
        let at = path.below("downwardAPI.items");
        for (i, file) in list(items).iter().enumerate() {
            let effect = "the volume is never mounted, and no container starts";
            report(file.resource_field_ref.as_ref(), effect, &at.index(i));
        }
    };
    for (i, volume) in list(&spec.volumes).iter().enumerate() {
        let path = VOLUMES.index(i);
        if let Some(it) = &volume.downward_api {
            report_files(&it.items, &path);
        }
        let at = path.below("projected.sources");
        let sources = volume.projected.as_ref().map_or(&[][..], |it| list(&it.sources));
        for (i, source) in sources.iter().enumerate() {
            if let Some(it) = &source.downward_api {
                report_files(&it.items, &at.index(i));
            }
        }
    }
}

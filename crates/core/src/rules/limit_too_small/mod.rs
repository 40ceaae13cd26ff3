use super::heap_above_limit::limit as memory;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "limit-too-small", group: NeverStarts;
    title: "the volume may grow above the limit",
    summary: "a volume that may grow above a limit of its pod",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    for (volume, path) in VOLUMES.items(list(&spec.volumes)) {
        let Some(it) = &volume.empty_dir else { continue };
        let Some(shown) = it.size_limit.as_ref().map(|it| &it.0) else { continue };
        let Some(size) = bytes(shown) else { continue };
        let medium = text(&it.medium);
        let (most, message, help) = match medium {
            "Memory" => (
                memory_of_writers(spec, &volume.name),
                "the files of this volume count as memory of their container, and the container is killed before the \
                 volume is full",
                "set sizeLimit below the memory limit, or raise the limit",
            ),
            "" => (
                storage(spec),
                "the volume counts as ephemeral storage of the pod, and the pod is evicted before the volume is full",
                "set sizeLimit below limits.ephemeral-storage, or raise the limit",
            ),
            _ => continue,
        };
        if most.is_some_and(|most| size > most) {
            let message = format!("with a sizeLimit of {shown}, {message}");
            found
                .report(&path.below("emptyDir.sizeLimit"), Reason::Invalid, message, help)
                .noted_if(medium.is_empty());
        }
    }
}

fn bytes(size: &str) -> Option<u128> {
    Some(Quantity::parse_resource(size)?.thousandths()? / 1_000)
}

/// The memory of the containers that write the volume, if all have a limit.
fn memory_of_writers(spec: &PodSpec, volume: &str) -> Option<u128> {
    let writes = |it: &&Container| {
        let mut mounts = list(&it.volume_mounts).iter();
        mounts.any(|it| it.name == volume && it.read_only != Some(true))
    };
    let limits = containers(spec).filter(writes).map(|it| Some(memory(it, spec)?.0));
    limits.sum::<Option<u128>>().filter(|it| *it > 0)
}

/// The ephemeral storage of the pod, if all containers have a limit.
///
/// Kubernetes: `podEphemeralStorageLimitEviction`, pkg/kubelet/eviction/eviction_manager.go.
fn storage(spec: &PodSpec) -> Option<u128> {
    let limits = containers(spec).map(|it| {
        let limits = it.resources.as_ref()?.limits.as_ref()?;
        bytes(&limits.get("ephemeral-storage")?.0)
    });
    limits.sum()
}

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-unmounted", group: Data, cel: "cel.yaml";
    title: "no container mounts this claim",
    summary: "a claim template that no container mounts",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(pod) = spec.template.spec.as_ref() else { return };
    let mut used = BTreeSet::new();
    for container in pod.init_containers.iter().flatten().chain(&pod.containers) {
        used.extend(container.volume_mounts.iter().flatten().map(|mount| mount.name.as_str()));
        used.extend(container.volume_devices.iter().flatten().map(|device| device.name.as_str()));
    }
    // A mount whose name is misspelled is an error of its own.
    let volumes = list(&pod.volumes).iter().map(|it| &*it.name);
    let known: BTreeSet<_> = volumes.chain(read::claims(spec).map(|it| it.0)).collect();
    if pod.containers.is_empty() || !used.is_subset(&known) {
        return;
    }
    for (i, (name, _)) in read::claims(spec).enumerate() {
        // The API server rejects a template without a name.
        if !name.is_empty() && !used.contains(name) {
            found.report(
                &CLAIM_TEMPLATES.index(i).below("metadata.name"),
                Reason::NotFound,
                format!(
                    "each pod gets a claim {name:?} and waits for it, but no container mounts it"
                ),
                format!("add a volumeMount named {name:?}, or remove the claim template"),
            );
        }
    }
}

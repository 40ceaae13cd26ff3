use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "shared-volume", group: Data;
    title: "all pods share one volume",
    summary: "a claim or disk in the template: all pods on all nodes share it",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let (who, instead) = match &subject.object.workload {
        Workload::DaemonSet(_) => ("the pods on all nodes".to_owned(), "a hostPath or emptyDir"),
        Workload::StatefulSet(spec) if spec.replicas.unwrap_or(1) > 1 => {
            let who = format!("all {} replicas", spec.replicas.unwrap_or(1));
            (who, "volumeClaimTemplates")
        }
        Workload::StatefulSet(_) => return,
    };
    one_for_all_claims(subject, &who, found);
    let Some(pod) = read::pod_spec(&subject.object) else { return };
    let claims = subject.object.stateful_set().into_iter().flat_map(read::claims);
    let claims: HashSet<&str> = claims.map(|(name, _)| name).collect();
    let only_read = only_read(pod);
    let mut shared = Vec::new();
    for (i, volume) in pod.volumes.iter().flatten().enumerate() {
        // claim-hides-volume reports a volume that no pod gets.
        let name = volume.name.as_str();
        if claims.contains(name) || only_read.get(name) == Some(&true) {
            continue;
        }
        let path = VOLUMES.index(i);
        let claim = volume.persistent_volume_claim.as_ref();
        if claim.is_some_and(|claim| subject.can_share(&claim.claim_name)) {
            continue;
        }
        if let Some(claim) = claim.filter(|claim| writes(claim.read_only)) {
            shared.push((i, claim.claim_name.as_str()));
        } else if let Some(source) = disk(volume) {
            let message = format!(
                "{who} attach the same {source} for writing, which only one node can do at a \
                 time"
            );
            let help = format!("set readOnly, or give each pod its own volume with {instead}");
            found.report(&path.child(source), Reason::Invalid, message, help);
        }
    }
    // One finding is enough: the cause and the remedy are the same.
    let names: Vec<_> = shared.iter().map(|(_, name)| format!("{name:?}")).collect();
    let Some((i, _)) = shared.first() else { return };
    let (claims, work, that) = match shared.len() {
        1 => ("claim", "which works only if its access mode is", "it is"),
        _ => ("claims", "which work only if the access mode of each is", "they are"),
    };
    let is_unsure = shared.iter().all(|(_, name)| subject.is_unknown_claim(name));
    let reported = found.report(
        &VOLUMES.index(*i).child("persistentVolumeClaim"),
        Reason::Invalid,
        format!("{who} share the {claims} {}, {work} ReadWriteMany", names.join(", ")),
        format!("make sure that {that}, or give each pod its own volume with {instead}"),
    );
    reported.noted_if(is_unsure);
}

/// A volume is bound to one claim: `syncUnboundClaim`, pkg/controller/volume/persistentvolume/pv_controller.go.
fn one_for_all_claims(subject: &Subject<'_>, who: &str, found: &mut Findings) {
    let old = subject.old().and_then(Object::stateful_set);
    // Otherwise the claims exist, and show whether they are bound.
    let is_new = old.is_none_or(|old| old.replicas.unwrap_or(1) < 2);
    let claims =
        subject.object.stateful_set().filter(|_| is_new).into_iter().flat_map(read::claims);
    for ((_, claim), path) in CLAIM_TEMPLATES.items(claims) {
        let named = claim.spec.as_ref().and_then(|it| it.volume_name.as_deref());
        let Some(volume) = named.filter(|it| !it.is_empty()) else { continue };
        let message = format!(
            "the claims of {who} ask for the volume {volume:?}, and only one claim can have it: the other pods stay \
             Pending"
        );
        let help =
            "leave out volumeName; a volume that is made by hand can name its claim in claimRef";
        found
            .report(&path.child("spec").child("volumeName"), Reason::Invalid, message, help)
            .planned_if(true);
    }
}

fn writes(read_only: Option<bool>) -> bool {
    read_only != Some(true)
}

/// The mounted volumes, each with whether all its mounts are read-only.
fn only_read(pod: &PodSpec) -> HashMap<&str, bool> {
    let mut volumes = HashMap::new();
    for mount in containers(pod).flat_map(|container| container.volume_mounts.iter().flatten()) {
        *volumes.entry(mount.name.as_str()).or_insert(true) &= mount.read_only == Some(true);
    }
    volumes
}

/// Only one node can attach such a disk for writing.
fn disk(volume: &Volume) -> Option<&'static str> {
    let v = volume;
    let sources = [
        ("awsElasticBlockStore", v.aws_elastic_block_store.as_ref().map(|s| s.read_only)),
        ("azureDisk", v.azure_disk.as_ref().map(|s| s.read_only)),
        ("cinder", v.cinder.as_ref().map(|s| s.read_only)),
        ("fc", v.fc.as_ref().map(|s| s.read_only)),
        ("gcePersistentDisk", v.gce_persistent_disk.as_ref().map(|s| s.read_only)),
        ("iscsi", v.iscsi.as_ref().map(|s| s.read_only)),
        ("vsphereVolume", v.vsphere_volume.as_ref().map(|_| None)),
    ];
    sources.into_iter().find(|(_, source)| source.is_some_and(writes)).map(|(name, _)| name)
}

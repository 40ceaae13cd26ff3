use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "volume-mode-mismatch", group: NeverStarts, mode: Mode::Deny;
    title: "the claim has the wrong volume mode",
    summary: "a block device that is mounted, or a file system that is used as a device",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Kubernetes: `createVolumeSpec`, pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go.
fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let ephemeral = list(&spec.volumes).iter().filter_map(|volume| {
        let claim = &volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?.spec;
        Some((volume.name.as_str(), claim.volume_mode.as_deref()))
    });
    let claims = subject.object.stateful_set().into_iter().flat_map(read::claims);
    let claims =
        claims.map(|(name, it)| (name, it.spec.as_ref().and_then(|it| it.volume_mode.as_deref())));
    // A claim template replaces a volume of its name.
    let modes: BTreeMap<_, _> = ephemeral.chain(claims).collect();
    let is_block = |name: &str| modes.get(name).map(|mode| *mode == Some("Block"));
    visit(spec, &POD_SPEC, &mut |container, path| {
        for (i, mount) in list(&container.volume_mounts).iter().enumerate() {
            if is_block(&mount.name) == Some(true) {
                let words =
                    ("a block device", "mounts it", "list it in volumeDevices, with a devicePath");
                report(&mount.name, words, &path.item("volumeMounts", i), found);
            }
        }
        for (i, device) in list(&container.volume_devices).iter().enumerate() {
            if is_block(&device.name) == Some(false) {
                let words = (
                    "a file system",
                    "wants a device",
                    "list it in volumeMounts, with a mountPath",
                );
                report(&device.name, words, &path.item("volumeDevices", i), found);
            }
        }
    });
}

fn report(
    name: &str,
    (what, how, list): (&str, &str, &str),
    path: &Path<'_>,
    found: &mut Findings,
) {
    let message = format!(
        "the claim {name:?} is {what}, but the container {how}, so the kubelet never starts the pod"
    );
    let help = format!("{list}, or change the volumeMode of the claim");
    found.report(&path.child("name"), Reason::Invalid, message, help).planned_if(true);
}

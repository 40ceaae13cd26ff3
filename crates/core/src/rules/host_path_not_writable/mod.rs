use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "host-path-not-writable", group: NeverStarts;
    title: "the user cannot write to this directory",
    summary: "a hostPath that the kubelet creates for root, mounted for another user",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Kubernetes: `checkTypeInternal`, `makeDir` and `makeFile`, pkg/volume/hostpath/host_path.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let of_pod = spec.security_context.as_ref();
    // An init container may change the owner.
    let inits = list(&spec.init_containers).iter().flat_map(|it| list(&it.volume_mounts));
    let prepared: HashSet<&str> = inits.map(|it| it.name.as_str()).collect();
    let volumes = read::volumes(spec);
    for (i, container) in spec.containers.iter().enumerate() {
        let own = container.security_context.as_ref();
        let added = own.and_then(|it| it.capabilities.as_ref()).map_or(&[][..], |it| list(&it.add));
        let is_root = read::is_privileged(container) || !added.is_empty();
        let user = read::user(container, spec).filter(|it| *it != 0 && !is_root);
        let Some(user) = user else { continue };
        for (j, mount) in list(&container.volume_mounts).iter().enumerate() {
            let volume = volumes.get(&*mount.name);
            let Some(host) = volume.and_then(|it| it.host_path.as_ref()) else { continue };
            let mode = match host.type_.as_deref() {
                Some("DirectoryOrCreate") => "0755",
                Some("FileOrCreate") => "0644",
                _ => continue,
            };
            // Everybody may write there, or nobody means to.
            let is_left_out = ["/tmp", "/var/tmp", "/dev", "/proc", "/sys"]
                .iter()
                .any(|it| read::contains(it, &host.path));
            let is_prepared =
                prepared.contains(mount.name.as_str()) || mount.read_only == Some(true);
            if is_left_out || is_prepared {
                continue;
            }
            let group = match of_pod.and_then(|it| it.fs_group) {
                Some(_) => ", and fsGroup does not apply to a hostPath",
                None => "",
            };
            let message = format!(
                "where {} does not exist yet, the kubelet creates it for root with the mode {mode}{group}, so user \
                 {user} cannot write there",
                host.path
            );
            let help = "let an init container with runAsUser: 0 change its owner";
            let (path, mounts) = (POD_SPEC.item("containers", i), "volumeMounts");
            let path = path.child(mounts);
            found.report(&path.index(j), Reason::Forbidden, message, help);
        }
    }
}

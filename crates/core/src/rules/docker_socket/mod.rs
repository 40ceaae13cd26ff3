use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "docker-socket", group: Upgrade, mode: Mode::Audit;
    title: "nodes have no socket of Docker",
    summary: "a hostPath with the socket of Docker, which Kubernetes no longer uses",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

const SOCKETS: [&str; 2] = ["/run/docker.sock", "/run/dockershim.sock"];
const OTHERS: [&str; 2] = ["/containerd.sock", "/crio.sock"];

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let volumes = list(&spec.volumes);
    let mut paths = volumes.iter().filter_map(|it| Some(&it.host_path.as_ref()?.path));
    // The program uses whichever socket the node has.
    if paths.any(|it| OTHERS.iter().any(|other| it.ends_with(other))) {
        return;
    }
    for (i, volume) in volumes.iter().enumerate() {
        let Some(host) = &volume.host_path else { continue };
        let mut mounts = containers(spec).flat_map(|it| list(&it.volume_mounts));
        let is_socket = SOCKETS.contains(&host.path.strip_prefix("/var").unwrap_or(&host.path));
        if !is_socket || !mounts.any(|it| it.name == volume.name) {
            continue;
        }
        let effect = match host.type_.as_deref() {
            Some("Socket" | "File") => "no container of the pod starts there",
            Some("FileOrCreate") => "the container gets an empty file there",
            _ => "the container gets an empty directory there",
        };
        let message = format!(
            "the kubelet has not used Docker since release 1.24, and on a node without Docker {effect}"
        );
        let help = "use the socket of the container runtime, such as /run/containerd/containerd.sock, if the program can";
        found.report(&VOLUMES.index(i).child("hostPath"), Reason::NotFound, message, help);
    }
}

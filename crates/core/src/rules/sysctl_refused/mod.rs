use crate::kubernetes::pod_security::SAFE_SYSCTLS;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "sysctl-refused", group: NeverStarts;
    title: "the kubelet refuses the sysctl",
    summary: "a sysctl that makes the kubelet refuse each pod, without end",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Kubernetes: `nameToNamespace`, component-helpers/node/util/sysctl/namespace.go.
const NAMESPACED: [&str; 10] = [
    "kernel.domainname", "kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni",
    "kernel.sem", "kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni",
];

/// Safe since 1.37, on nodes whose kernel has a value for each pod.
const SAFE_LATER: [&str; 2] = ["net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_slow_start_after_idle"];

/// The kernel has one value for all pods: `net_core_table`, net/core/sysctl_net_core.c.
const OF_THE_NODE: [&str; 5] = [
    "net.core.netdev_max_backlog", "net.core.rmem_default", "net.core.rmem_max",
    "net.core.wmem_default", "net.core.wmem_max",
];

/// Kubernetes: `validateSysctl` and `NewAllowlist`, pkg/kubelet/sysctl/allowlist.go.
fn check(spec: &PodSpec, _: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let sysctls = spec.security_context.as_ref().map_or(&[][..], |it| list(&it.sysctls));
    let at = POD_SPEC.below("securityContext.sysctls");
    for (sysctl, path) in at.items(sysctls.iter()) {
        let name = sysctl.name.replace('/', ".");
        let is_safe = SAFE_SYSCTLS.contains(&&*name)
            || cluster.version.minor() >= 37 && SAFE_LATER.contains(&&*name);
        if is_safe {
            continue;
        }
        let is_of_the_node = OF_THE_NODE.contains(&&*name);
        let may_be_allowed = !is_of_the_node
            && (NAMESPACED.contains(&&*name)
                || name.starts_with("net.")
                || name.starts_with("fs.mqueue.")
                || name.starts_with("user.") && spec.host_users == Some(false));
        let (message, help) = if is_of_the_node {
            (
                format!(
                    "no pod can set the sysctl {name}, which is the node's own: kubelets refuse it, and with \
                     --allowed-unsafe-sysctls the containers do not start"
                ),
                "set it on the nodes, for example in /etc/sysctl.d",
            )
        } else if may_be_allowed {
            (
                format!(
                    "kubelets refuse each pod with the sysctl {name}, unless --allowed-unsafe-sysctls names it"
                ),
                "start the kubelets with this option, and select their nodes",
            )
        } else {
            (
                format!(
                    "every kubelet refuses a pod with the sysctl {name}, which is the node's own: each pod ends \
                     as Failed (SysctlForbidden), and the controller makes another one"
                ),
                "set it on the nodes, for example with sysctl -w in a privileged init container",
            )
        };
        let path = path.child("name");
        found.report(&path, Reason::Forbidden, message, help).noted_if(may_be_allowed);
    }
}

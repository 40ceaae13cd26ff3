//! A pod in the node's network that asks for a Service by a name it cannot resolve.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::{cluster::Cluster, containers::containers},
    object::Subject,
    rules::rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "host-network-dns",
        summary: "hostNetwork and the name of a Service, which the node's DNS does not know",
        why: "\
A pod with `hostNetwork: true` and the default `dnsPolicy: ClusterFirst` does not use the cluster's DNS: the
kubelet gives it the node's resolv.conf. Names of Services such as `api.monitoring.svc` do not resolve there.
`dnsPolicy: ClusterFirstWithHostNet` is what the author meant.

The rule looks for names with `.svc` in the commands, arguments and environment of the containers. It is
silent if `dnsConfig` names servers. Network plugins, which must work before the
cluster's DNS does, use IP addresses.

Not seen on a control plane, because it happens in the kubelet.

Kubernetes: `getPodDNSType`, pkg/kubelet/network/dns/dns.go.",
        bad: include_str!("examples/host-network-dns.bad.yaml"),
        good: include_str!("examples/host-network-dns.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
    let policy = spec.dns_policy.as_deref();
    if spec.host_network != Some(true) || !matches!(policy, None | Some("" | "ClusterFirst")) {
        return;
    }
    let own_servers = spec.dns_config.as_ref().and_then(|config| config.nameservers.as_ref());
    if own_servers.is_some_and(|servers| !servers.is_empty()) {
        return;
    }
    let Some((container, name)) = service_name(spec) else { return };
    found.report(
        &POD_SPEC.child("hostNetwork"),
        Reason::Invalid,
        format!(
            "with hostNetwork the pod uses the node's DNS, which does not know {name:?} of container {:?}",
            container.name
        ),
        "set dnsPolicy: ClusterFirstWithHostNet",
    );
}

/// Returns the first name of a Service that a container mentions.
fn service_name(spec: &PodSpec) -> Option<(&Container, &str)> {
    containers(spec).find_map(|container| {
        let lists = [&container.command, &container.args];
        let words = lists.into_iter().flatten().flatten().map(String::as_str);
        let values = container.env.iter().flatten().filter_map(|env| env.value.as_deref());
        words.chain(values).find_map(name_in).map(|name| (container, name))
    })
}

/// Returns the first name in a text that has `svc` as one of its labels, but not as its first.
fn name_in(text: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let names = text.split(|c| !is_of_name(c));
    names.map(|name| name.trim_matches('.')).find(|name| {
        name.match_indices(".svc").any(|(i, svc)| {
            let rest = &name[i + svc.len()..];
            i > 0 && (rest.is_empty() || rest.starts_with('.'))
        })
    })
}

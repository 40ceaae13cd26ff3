//! A pod in its node's network that looks up a Service by a name that it cannot resolve.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::read;
use crate::{
    finding::{Findings, Mode, Reason, paths::POD_SPEC},
    kubernetes::{cluster::Cluster, containers::containers},
    object::Subject,
    rules::rule::{ObjectCheck, OpenKruise, Rule, Scope},
};

pub(super) static RULE: Rule = rule! {
    id: "host-network-dns",
    title: "hostNetwork cannot resolve the name of a Service",
    summary: "hostNetwork with the name of a Service that the node's DNS does not know",
    group: Names,
    mode: Mode::Warn,
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
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

fn service_name(spec: &PodSpec) -> Option<(&Container, &str)> {
    containers(spec).find_map(|container| {
        let lists = [&container.command, &container.args];
        let found = lists.into_iter().flatten().find_map(|list| name_in_arguments(list));
        let mut env = container.env.iter().flatten().filter(|it| !is_only_compared(&it.name));
        let found = found.or_else(|| env.find_map(|it| name_in(it.value.as_deref()?)));
        found.map(|name| (container, name))
    })
}

/// Arguments such as `--flag=value` or `--flag value`.
fn name_in_arguments(list: &[String]) -> Option<&str> {
    let before = std::iter::once("").chain(list.iter().map(String::as_str));
    before.zip(list).find_map(|(before, word)| {
        let flag = if word.starts_with('-') { word.split('=').next()? } else { before };
        let is_left_out = flag.starts_with('-') && is_only_compared(flag);
        if is_left_out { None } else { name_in(word) }
    })
}

/// The program compares the names in some flags and variables without resolving them.
fn is_only_compared(flag: &str) -> bool {
    let flag = flag.to_ascii_lowercase().replace('_', "-");
    let words = ["no-proxy", "server-name", "servername", "dns-name", "alt-name", "common-name"];
    words.iter().any(|word| flag.contains(word))
        || flag
            .split('-')
            .any(|word| matches!(word, "san" | "sans" | "cn" | "issuer" | "audience" | "audiences"))
}

/// At least two labels, `svc`, and possibly the cluster domain. A file name does not count.
fn name_in(text: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let mut start = 0;
    while let Some(skipped) = text[start..].find(is_of_name) {
        let at = start + skipped;
        let end = text[at..].find(|c| !is_of_name(c)).map_or(text.len(), |length| at + length);
        let before = &text[..at];
        let is_in_path = before.ends_with('/') && !before.ends_with("://");
        let name = text[at..end].trim_end_matches('.');
        if !is_in_path && is_service(name) {
            return Some(name);
        }
        start = end;
    }
    None
}

fn is_service(name: &str) -> bool {
    let mut labels = name.split('.');
    let before = labels.by_ref().take_while(|label| *label != "svc");
    let has_namespace = before.filter(|label| !label.is_empty()).count() >= 2;
    has_namespace && name.split('.').any(|label| label == "svc")
}

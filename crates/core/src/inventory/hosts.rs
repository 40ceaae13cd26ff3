//! The names of hosts that pods look up.

use crate::inventory::prelude::*;
use crate::kubernetes::{config_references::visit_config_references, containers::arguments};

/// Returns the field that makes the pods resolve names by their nodes' DNS. With `hostNetwork`, `dnsPolicy: Default` is
/// intended.
///
/// Kubernetes: `getPodDNSType`, pkg/kubelet/network/dns/dns.go.
pub(crate) fn node_dns(pod: &PodSpec) -> Option<&'static str> {
    let own_servers = pod.dns_config.as_ref().and_then(|it| it.nameservers.as_ref());
    let field = match (pod.host_network, pod.dns_policy.as_deref()) {
        (Some(true), None | Some("" | "ClusterFirst")) => "hostNetwork",
        (None | Some(false), Some("Default")) => "dnsPolicy",
        _ => return None,
    };
    own_servers.is_none_or(Vec::is_empty).then_some(field)
}

/// Texts that may name a host, each with its flag or variable.
pub(crate) fn texts(container: &Container) -> impl Iterator<Item = (&str, &str)> {
    let env = list(&container.env).iter();
    let env = env.filter_map(|it| Some((it.name.as_str(), it.value.as_deref()?)));
    arguments(container).chain(env).filter(|(name, _)| !is_only_compared(name))
}

/// The names that pods look up by their nodes' DNS, if their template shows only a part of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lookups {
    /// Why the nodes' DNS is used.
    pub(crate) field: &'static str,
    /// Names such as `db` and `db.shop`. Those with `svc` need no other object.
    pub(crate) hosts: Box<[Box<str>]>,
    /// The ConfigMaps that may have more, each with the key, unless all keys are read.
    pub(crate) configs: BTreeSet<(Box<str>, Option<Box<str>>)>,
}

impl Lookups {
    pub(super) fn of(pod: &PodSpec) -> Option<Box<Self>> {
        let field = node_dns(pod)?;
        let lookups = Lookups { field, hosts: of_pod(pod), configs: configs(pod) };
        // Then the template alone shows the fault.
        let is_found = containers(pod).flat_map(texts).any(|(_, text)| name_in(text).is_some());
        let has_any = !lookups.hosts.is_empty() || !lookups.configs.is_empty();
        (!is_found && has_any).then(|| Box::new(lookups))
    }
}

fn configs(pod: &PodSpec) -> BTreeSet<(Box<str>, Option<Box<str>>)> {
    let mut all = BTreeSet::new();
    visit_config_references(pod, &mut |it, _| {
        if it.kind == Kind::ConfigMap {
            all.insert((it.name.into(), it.key.map(Into::into)));
        }
    });
    all
}

/// The maximum number of names that are kept of a ConfigMap.
const MOST_HOSTS: usize = 50;

/// The names of hosts in a ConfigMap, each with its key. Values are not kept.
pub(super) fn of_config_map(data: &BTreeMap<String, String>) -> Box<[(Box<str>, Box<str>)]> {
    let hosts = data.iter().flat_map(|(key, text)| {
        let lines = text.lines().map(|it| it.split('#').next().unwrap_or_default().trim());
        lines.flat_map(move |line| {
            let parts = line.split_once(": ").or_else(|| line.split_once('='));
            let (name, value) = parts.filter(|it| !it.0.contains("://")).unwrap_or((key, line));
            let is_left_out = is_only_compared(key) || is_only_compared(name);
            let value = if is_left_out { "" } else { value.trim() };
            let hosts = name_in(value).into_iter().chain(short(name, value));
            hosts.map(move |host| (key.as_str().into(), host.into()))
        })
    });
    hosts.take(MOST_HOSTS).collect()
}

/// The names that the template shows, short or with `svc`.
pub(super) fn shown(pod: &PodSpec) -> Box<[Box<str>]> {
    let long = containers(pod).flat_map(texts).filter_map(|(_, text)| name_in(text));
    long.map(Into::into).chain(of_pod(pod)).collect()
}

fn of_pod(pod: &PodSpec) -> Box<[Box<str>]> {
    let is_alias = |host: &str| {
        list(&pod.host_aliases).iter().flat_map(|it| list(&it.hostnames)).any(|it| it == host)
    };
    let texts = containers(pod).flat_map(texts);
    let hosts = texts.flat_map(|(name, text)| short(name, text)).filter(|it| !is_alias(it));
    hosts.map(Into::into).collect()
}

/// Short names of hosts: `http://db/`, `db:80`, or the whole text if the flag is for a host.
fn short<'a>(name: &str, text: &'a str) -> impl Iterator<Item = &'a str> {
    let name = name.to_ascii_lowercase();
    let is_image = name.contains("image");
    let is_host =
        ["host", "addr", "address", "server", "endpoint"].iter().any(|it| name.ends_with(it));
    let is_host = is_host && !name.ends_with("vhost");
    let words =
        text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '='));
    words.filter_map(move |word| {
        let is_url = word.contains("://");
        let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
        let rest = rest.split(['/', '?', '#']).next()?;
        let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
        let (host, port) = rest.split_once(':').map_or((rest, None), |it| (it.0, Some(it.1)));
        let has_port = port.is_some_and(|it| it.parse::<u16>().is_ok()) && !is_image;
        let is_meant = is_url || has_port && rest.len() == word.len() || is_host && word == text;
        let is_part =
            |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let is_short = host.split('.').count() <= 2 && host.split('.').all(is_part);
        (is_meant && is_short && host != "localhost").then_some(host)
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
pub(crate) fn name_in(text: &str) -> Option<&str> {
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

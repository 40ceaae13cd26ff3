use k8s_openapi::api::core::v1::{HostAlias, PodDNSConfig};

use crate::validation::prelude::*;

const MAX_NAMESERVERS: usize = 3;
const MAX_SEARCH_PATHS: usize = 32;
const MAX_SEARCH_CHARACTERS: usize = 2048;

/// Follows `validateDNSPolicy`.
pub(crate) fn policy(spec: &PodSpec, path: &At<'_>) {
    let policies = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    required_one_of(text(&spec.dns_policy), policies, &path.child("dnsPolicy"));
}

/// Follows `validatePodDNSConfig`.
pub(crate) fn config(spec: &PodSpec, opts: &Options, path: &At<'_>) {
    let path = path.child("dnsConfig");
    let none = spec.dns_policy.as_deref() == Some("None");
    let Some(config) = &spec.dns_config else {
        if none {
            path.required("must provide `dnsConfig` when `dnsPolicy` is None");
        }
        return;
    };
    if none && list(&config.nameservers).is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        path.child("nameservers").required(why);
        return;
    }
    nameservers(config, opts, &path);
    searches(config, opts, &path);
    for (i, option) in list(&config.options).iter().enumerate() {
        if text(&option.name).is_empty() {
            path.child("options").index(i).required("must not be empty");
        }
    }
}

fn nameservers(config: &PodDNSConfig, opts: &Options, path: &At<'_>) {
    let path = path.child("nameservers");
    let servers = list(&config.nameservers);
    if servers.len() > MAX_NAMESERVERS {
        let why = format!("must not have more than {MAX_NAMESERVERS} nameservers");
        path.invalid(Value::json(&servers), why);
    }
    for (i, server) in servers.iter().enumerate() {
        each(names::ip(server, opts.strict_ip), server, &path.index(i));
    }
}

fn searches(config: &PodDNSConfig, opts: &Options, path: &At<'_>) {
    let path = path.child("searches");
    let searches = list(&config.searches);
    if searches.len() > MAX_SEARCH_PATHS {
        let why = format!("must not have more than {MAX_SEARCH_PATHS} search paths");
        path.invalid(Value::json(&searches), why);
    }
    let characters = searches.iter().map(|search| search.len() + 1).sum::<usize>();
    if characters.saturating_sub(1) > MAX_SEARCH_CHARACTERS {
        let why = format!(
            "must not have more than {MAX_SEARCH_CHARACTERS} characters (including spaces) in \
             the search list"
        );
        path.invalid(Value::json(&searches), why);
    }
    for (search, path) in path.items(searches) {
        let name = search.strip_suffix('.').unwrap_or(search);
        if !opts.relaxed_dns_search {
            subdomain(name, &path);
        } else if search != "." {
            each(names::dns1123_subdomain_with_underscore(name), name, &path);
        }
    }
}

/// Follows `ValidateHostAliases`.
pub(crate) fn host_aliases(aliases: &[HostAlias], opts: &Options, path: &At<'_>) {
    for (alias, path) in path.items(aliases) {
        each(names::ip(&alias.ip, opts.strict_ip), &alias.ip, &path.child("ip"));
        for (j, name) in list(&alias.hostnames).iter().enumerate() {
            subdomain(name, &path.child("hostnames").index(j));
        }
    }
}

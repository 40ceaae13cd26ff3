//! Keys of configuration files that a later release of the program no longer has.

use crate::inventory::prelude::*;
use crate::kubernetes::{
    containers::arguments,
    image::{Release, image, numbers},
    loopback::asked,
};

/// A key that the program refuses.
#[derive(Debug, PartialEq)]
pub(crate) struct RemovedKey {
    images: &'static [&'static str],
    /// The key above it; empty for any.
    parent: &'static str,
    /// Or what `in_sections` found.
    pub(crate) key: &'static str,
    /// The first release without it.
    pub(crate) since: Release,
    pub(crate) help: &'static str,
    /// A part of the flags that set what a file lacks; empty for none.
    unless: &'static str,
}

/// The page of `removed-option` names the sources.
static KEYS: [RemovedKey; 14] = [
    of(COLLECTOR, "", HEALTH_CHECK, (0, 104), "write endpoint: 0.0.0.0:13133"),
    of(COLLECTOR, "exporters", "logging", (0, 111), "use the exporter debug instead"),
    of(COLLECTOR, "extensions", "memory_ballast", (0, 109), "leave it out, and set GOMEMLIMIT"),
    of(FILEBEAT, "", CONTAINER_INPUT, (9, 0), FILESTREAM),
    of(FILEBEAT, "", LOG_INPUT, (9, 0), FILESTREAM),
    of(
        LOKI,
        "",
        SCHEMA,
        (3, 0),
        "add one, or set allow_structured_metadata: false in limits_config",
    )
    .unless("structured-metadata"),
    of(LOKI, "", RETENTION, (3, 0), "set delete_request_store in the compactor")
        .unless("compactor."),
    of(LOKI, "chunk_store_config", "max_look_back_period", (3, 0), LOOKBACK),
    of(LOKI, "ingester", "max_transfer_retries", (3, 0), "leave it out"),
    of(LOKI, "limits_config", "enforce_metric_name", (3, 0), "leave it out"),
    of(
        LOKI,
        "",
        "shared_store",
        (3, 0),
        "leave it out; a compactor with retention needs delete_request_store",
    ),
    of(MYSQL, "", "default_authentication_plugin", (8, 4), "use authentication_policy instead"),
    of(MYSQL, "", "query_cache_size", (8, 0), "leave it out"),
    of(MYSQL, "", "query_cache_type", (8, 0), "leave it out"),
];

/// It listens on localhost then, and the container has a probe for it.
pub(crate) const HEALTH_CHECK: &str = "health_check without an endpoint";
const CONTAINER_INPUT: &str = "an input of type container";
const LOG_INPUT: &str = "an input of type log";
const SCHEMA: &str = "a last schema that is not v13 with tsdb";
const RETENTION: &str = "retention_enabled without delete_request_store";

const FILESTREAM: &str = "use type filestream, or set allow_deprecated_use: true in the input";
const FILEBEAT: &[&str] = &["docker.elastic.co/beats/filebeat", "elastic/filebeat"];
const LOOKBACK: &str = "use max_query_lookback in limits_config instead";
const LOKI: &[&str] = &["grafana/loki"];
const MYSQL: &[&str] = &["mysql"];
const COLLECTOR: &[&str] = &[
    "ghcr.io/open-telemetry/opentelemetry-collector-releases/opentelemetry-collector",
    "ghcr.io/open-telemetry/opentelemetry-collector-releases/opentelemetry-collector-contrib",
    "ghcr.io/open-telemetry/opentelemetry-collector-releases/opentelemetry-collector-k8s",
    "otel/opentelemetry-collector",
    "otel/opentelemetry-collector-contrib",
    "otel/opentelemetry-collector-k8s",
];

const fn of(
    images: &'static [&'static str],
    parent: &'static str,
    key: &'static str,
    since: Release,
    help: &'static str,
) -> RemovedKey {
    RemovedKey { images, parent, key, since, help, unless: "" }
}

impl RemovedKey {
    const fn unless(self, flag: &'static str) -> Self {
        RemovedKey { unless: flag, ..self }
    }
}

/// Returns the keys that the programs of a pod no longer have. A tag without a minor release may be an older one.
pub(super) fn of_pod(pod: &PodSpec) -> Box<[&'static RemovedKey]> {
    let mut found = Vec::new();
    for container in containers(pod) {
        let (image, tag) = image(container);
        let release = numbers(tag);
        let has = |part: &str| arguments(container).any(|(flag, _)| flag.contains(part));
        let is_of = |it: &&RemovedKey| {
            it.images.contains(&image)
                && release >= Some(it.since)
                && (it.unless.is_empty() || !has(it.unless))
                && (it.key != HEALTH_CHECK || asks_health_check(container))
        };
        found.extend(KEYS.iter().filter(is_of));
    }
    found.into()
}

/// Returns the files of a ConfigMap that have such keys, each with the key.
pub(super) fn of_config_map(data: &BTreeMap<String, String>) -> Box<[(Box<str>, &'static str)]> {
    let found = data.iter().flat_map(|(file, text)| {
        let keys: BTreeSet<_> = in_file(text).chain(in_sections(text)).collect();
        keys.into_iter().map(|key| (file.as_str().into(), key))
    });
    found.collect()
}

/// Reads the lines of a YAML or INI file.
fn in_file(text: &str) -> impl Iterator<Item = &'static str> {
    let mut above: Vec<(usize, &str)> = Vec::new();
    text.lines().filter_map(move |line| {
        let rest = line.trim_start_matches([' ', '-']);
        let (name, _) = rest.split_once([':', '='])?;
        let indent = line.len() - rest.len();
        above.retain(|it| it.0 < indent);
        // A component of a collector can have a name of its own: `logging/1`.
        let name = name.split('/').next().unwrap_or_default().trim().trim_matches('"');
        let parent = above.last().map_or("", |it| it.1);
        let found = KEYS.iter().find(|it| {
            it.key.len() == name.len()
                && it.key == name.replace('-', "_")
                && (it.parent.is_empty() || it.parent == parent)
        });
        above.push((indent, name));
        found.map(|it| it.key)
    })
}

/// Several files, flags with keys and the feature gate may set the endpoint.
fn asks_health_check(container: &Container) -> bool {
    let words = [&container.command, &container.args].into_iter().flatten().flatten();
    let mut flags = words.filter(|it| it.starts_with('-'));
    let is_plain =
        flags.next().is_none_or(|it| it.starts_with("--config") && !it.contains("yaml:"));
    is_plain && flags.next().is_none() && asked(container, &POD_SPEC).contains_key(&13133)
}

/// What values or missing keys of a YAML file make a program refuse. Ignores what is written in one line, as in JSON.
fn in_sections(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let schemas = below(text, "schema_config:");
    let last = |key| schemas.iter().rev().find_map(|it| value(it, key));
    if let (Some(schema), Some(store)) = (last("schema"), last("store"))
        && !text.contains("allow_structured_metadata: false")
        && let Some(Ok(version)) = schema.strip_prefix('v').map(str::parse::<u32>)
        && (version < 13 || store != "tsdb" && !store.contains('$'))
    {
        found.push(SCHEMA);
    }
    let compactor = below(text, "compactor:");
    let of_compactor = |key| compactor.iter().find_map(|it| value(it, key));
    if of_compactor("retention_enabled") == Some("true")
        && of_compactor("delete_request_store").is_none()
    {
        found.push(RETENTION);
    }
    let extensions = below(text, "extensions:");
    let is_empty = |it: &&str| matches!(it.trim(), "health_check:" | "health_check: {}");
    if let Some(at) = extensions.iter().position(is_empty)
        && text.matches("health_check").count() > 1
    {
        let mut own =
            extensions.iter().skip(at + 1).take_while(|it| indent(it) > indent(extensions[at]));
        if !own.any(|it| it.contains("endpoint")) {
            found.push(HEALTH_CHECK);
        }
    }
    let inputs = below(text, "filebeat.inputs:");
    let column = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let first_column = inputs.first().map_or(0, |it| column(it));
    // The lines of each input that have its keys.
    let mut inputs = inputs.into_iter().filter(|it| column(it) == first_column).peekable();
    while let Some(first) = inputs.next() {
        let mut keys = vec![first];
        while let Some(next) = inputs.next_if(|it| !it.trim_start().starts_with('-')) {
            keys.push(next);
        }
        let of_input = |key| keys.iter().find_map(|it| value(it, key));
        if of_input("allow_deprecated_use").is_none() && of_input("enabled") != Some("false") {
            found.extend(match of_input("type") {
                Some("container") => Some(CONTAINER_INPUT),
                Some("log") => Some(LOG_INPUT),
                _ => None,
            });
        }
    }
    found
}

/// The lines below a key. A list may have the indent of its key.
fn below<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    // Most files have no such key, and may be long.
    if !text.contains(key) {
        return Vec::new();
    }
    let mut lines =
        text.lines().filter(|it| !matches!(it.trim_start().chars().next(), None | Some('#')));
    let Some(first) = lines.find(|it| it.trim_end() == key) else { return Vec::new() };
    let is_below = |it: &&str| {
        indent(it) > indent(first)
            || indent(it) == indent(first) && it.trim_start().starts_with("- ")
    };
    lines.take_while(is_below).collect()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line.trim_start_matches([' ', '-']).strip_prefix(key)?.strip_prefix(": ")?;
    Some(value.split(" #").next()?.trim().trim_matches(['"', '\'']))
}

//! Keys of configuration files that a later release of the program no longer has.

use crate::inventory::prelude::*;
use crate::kubernetes::image::{Release, image, numbers};

/// A key that the program refuses.
#[derive(Debug, PartialEq)]
pub(crate) struct RemovedKey {
    images: &'static [&'static str],
    /// The key above it; empty for any.
    parent: &'static str,
    pub(crate) key: &'static str,
    /// The first release without it.
    pub(crate) since: Release,
    pub(crate) help: &'static str,
}

/// The page of `removed-option` names the sources.
static KEYS: [RemovedKey; 9] = [
    of(COLLECTOR, "exporters", "logging", (0, 111), "use the exporter debug instead"),
    of(COLLECTOR, "extensions", "memory_ballast", (0, 109), "leave it out, and set GOMEMLIMIT"),
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
    RemovedKey { images, parent, key, since, help }
}

/// Returns the keys that the programs of a pod no longer have. A tag without a minor release may be an older one.
pub(super) fn of_pod(pod: &PodSpec) -> Box<[&'static RemovedKey]> {
    let mut found = Vec::new();
    for container in containers(pod) {
        let (image, tag) = image(container);
        let release = numbers(tag);
        let is_of = |it: &&RemovedKey| it.images.contains(&image) && release >= Some(it.since);
        found.extend(KEYS.iter().filter(is_of));
    }
    found.into()
}

/// Returns the files of a ConfigMap that have such keys, each with the key.
pub(super) fn of_config_map(data: &BTreeMap<String, String>) -> Box<[(Box<str>, &'static str)]> {
    let found = data.iter().flat_map(|(file, text)| {
        let keys: BTreeSet<_> = in_file(text).collect();
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

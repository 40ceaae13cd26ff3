use crate::{inventory::removed_keys::HEALTH_CHECK, rules::prelude::*};

pub(super) static RULE: Rule = rule! {
    id: "removed-option", group: NeverStarts;
    title: "the program no longer has the option",
    summary: "an option that the image's release no longer has, so that the program ends",
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check)),
        Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check: among },
    ],
};

type Removed = (&'static [&'static str], &'static str, read::Release, &'static str);

/// Images, an option, the first release without it, and what to do. `why.md` names the sources.
const REMOVED: [Removed; 13] = [
    (&["mysql"], "default-authentication-plugin", (8, 4), "use --authentication-policy instead"),
    (&["mysql"], "query-cache-size", (8, 0), "leave it out"),
    (&["mysql"], "query-cache-type", (8, 0), "leave it out"),
    (KEYCLOAK, "hostname-admin-url", (26, 0), "use --hostname-admin instead"),
    (KEYCLOAK, "hostname-path", (26, 0), HOSTNAME),
    (KEYCLOAK, "hostname-port", (26, 0), HOSTNAME),
    (
        KEYCLOAK,
        "hostname-strict-backchannel",
        (26, 0),
        "use --hostname-backchannel-dynamic instead",
    ),
    (KEYCLOAK, "hostname-strict-https", (26, 0), HOSTNAME),
    (KEYCLOAK, "hostname-url", (26, 0), HOSTNAME),
    (KEYCLOAK, "proxy", (26, 0), "use --proxy-headers, and --http-enabled=true, instead"),
    (SNAPSHOTS, "enable-volume-group-snapshots", (8, 2), GATE),
    (ETCD, "enable-v2", (3, 6), "leave it out"),
    (ETCD, "experimental-enable-v2v3", (3, 6), "leave it out"),
];

const KEYCLOAK: &[&str] = &["keycloak/keycloak", "quay.io/keycloak/keycloak"];

const HOSTNAME: &str = "write the whole URL in --hostname instead";

const SNAPSHOTS: &[&str] = &[
    "registry.k8s.io/sig-storage/csi-snapshotter",
    "registry.k8s.io/sig-storage/snapshot-controller",
];

const GATE: &str = "use --feature-gates=CSIVolumeGroupSnapshot=true instead";

const ETCD: &[&str] =
    &["gcr.io/etcd-development/etcd", "quay.io/coreos/etcd", "registry.k8s.io/etcd"];

/// Reports variables that an entrypoint refuses.
fn variables(container: &Container, path: &Path<'_>, found: &mut Findings) {
    let (image, tag) = read::image(container);
    let (since, unless, help) = match image {
        "rabbitmq" => ((3, 9), "", "write the setting in a file in /etc/rabbitmq/conf.d"),
        "confluentinc/cp-kafka" if list(&container.args).is_empty() => (
            (8, 0),
            "KAFKA_PROCESS_ROLES",
            "set KAFKA_PROCESS_ROLES, KAFKA_NODE_ID and CLUSTER_ID, or use release 7.9",
        ),
        _ => return,
    };
    let is_newer = matches!(tag, "" | "latest") || read::numbers(tag) >= Some(since);
    let env = list(&container.env);
    if !is_newer
        || !list(&container.command).is_empty()
        || !list(&container.env_from).is_empty()
        || env.iter().any(|it| it.name == unless)
    {
        return;
    }
    for (i, variable) in env.iter().enumerate() {
        let name = &*variable.name;
        let is_refused = match name.strip_prefix("RABBITMQ_") {
            Some(it) => REFUSED.contains(&it.strip_prefix("MANAGEMENT_").unwrap_or(it)),
            None => name == "KAFKA_ZOOKEEPER_CONNECT",
        };
        if !is_refused || variable.value.as_deref().is_some_and(str::is_empty) {
            continue;
        }
        let (major, minor) = since;
        let without = if unless.is_empty() { "" } else { " without KAFKA_PROCESS_ROLES" };
        let message = format!(
            "since release {major}.{minor} the image refuses {name}{without}, so the container ends at once"
        );
        found.report(&path.item("env", i).child("name"), Reason::NotSupported, message, help);
    }
}

/// The variables that the entrypoint of RabbitMQ refuses, without `RABBITMQ_` and `MANAGEMENT_`.
const REFUSED: [&str; 9] = [
    "DEFAULT_PASS_FILE", "DEFAULT_USER_FILE", "SSL_CACERTFILE", "SSL_CERTFILE", "SSL_DEPTH",
    "SSL_FAIL_IF_NO_PEER_CERT", "SSL_KEYFILE", "SSL_VERIFY", "VM_MEMORY_HIGH_WATERMARK",
];

fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    variables(container, path, found);
    let (image, tag) = read::image(container);
    let Some(release) = read::numbers(tag) else { return };
    let of_image = || REMOVED.iter().filter(|it| it.0.contains(&image) && it.2 <= release);
    for (field, words) in [("command", &container.command), ("args", &container.args)] {
        for (i, word) in list(words).iter().enumerate() {
            let name = word.split('=').next().unwrap_or_default().replace('_', "-");
            let name = name.strip_prefix('-').map(|it| it.strip_prefix('-').unwrap_or(it));
            let Some((_, option, (major, minor), help)) = of_image().find(|it| name == Some(it.1))
            else {
                continue;
            };
            let message = format!(
                "since release {major}.{minor} the program no longer has --{option}, so it ends at once"
            );
            found.report(&path.item(field, i), Reason::NotSupported, message, *help);
        }
    }
}

fn among(query: &Query<'_>, found: &mut Findings) {
    in_files(query, false, found);
}

/// Compares the files of its ConfigMaps. A health check on localhost is for a rule of its own.
pub(super) fn in_files(query: &Query<'_>, is_loopback: bool, found: &mut Findings) {
    let mut seen = HashSet::new();
    for it in query.details.configs.iter().filter(|_| !query.details.removed_keys.is_empty()) {
        let objects = query.inventory().named(it.kind, query.item.namespace(), &it.name);
        let files = objects.filter_map(|object| Some((object, &object.rare()?.removed_keys)));
        for (object, (file, key)) in
            files.flat_map(|(it, files)| files.iter().map(move |file| (it, file)))
        {
            let removed = query.details.removed_keys.iter().find(|it| it.key == *key);
            let is_read = it.key.as_ref().is_none_or(|it| it == file);
            let Some(removed) = removed.filter(|_| is_read && seen.insert((&it.name, key))) else {
                continue;
            };
            if (removed.key == HEALTH_CHECK) != is_loopback {
                continue;
            }
            let (major, minor) = removed.since;
            let message = if is_loopback {
                format!(
                    "{file} of {object} has {key}: since release {major}.{minor} it listens on localhost:13133, and the \
                     kubelet asks for the port at the address of the pod, so the probe always fails"
                )
            } else {
                format!(
                    "{file} of {object} has {key}, and since release {major}.{minor} the program refuses that, so it ends at once"
                )
            };
            found.via(it.kind, it.field.clone(), Reason::NotSupported, message, removed.help);
        }
    }
}

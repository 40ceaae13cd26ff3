use k8s_openapi::api::core::v1::{
    EnvFromSource, EnvVar, FileKeySelector, ObjectFieldSelector, ResourceFieldSelector,
};

use crate::validation::prelude::*;
use crate::{kubernetes::names::Messages, validation::object_meta::without_trailing_dash};

const ENV_FIELDS: &[&str] = &[
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
];
const RESOURCES: &[&str] = &[
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
    "requests.ephemeral-storage", "requests.memory",
];
const TOO_MANY: &str = "may not have more than one field specified at a time";

fn name_messages(name: &str, opts: &Options) -> Messages {
    if opts.relaxed_env_names {
        names::relaxed_env_var_name(name)
    } else {
        names::env_var_name(name)
    }
}

/// Follows `ValidateEnv`.
pub(crate) fn validate(vars: &[EnvVar], opts: &Options, path: &At<'_>) {
    for (var, path) in path.items(vars) {
        filled(&var.name, |name| name_messages(name, opts), &path.child("name"));
        value_from(var, opts, &path.child("valueFrom"));
    }
}

/// Follows `validateEnvVarValueFrom`.
fn value_from(var: &EnvVar, opts: &Options, path: &At<'_>) {
    let Some(source) = &var.value_from else { return };
    let mut sources = 0;
    if let Some(field) = &source.field_ref {
        sources += 1;
        field_ref(field, ENV_FIELDS, &path.child("fieldRef"));
    }
    if let Some(field) = &source.resource_field_ref {
        sources += 1;
        resource_field_ref(field, false, &path.child("resourceFieldRef"));
    }
    if let Some(key) = &source.config_map_key_ref {
        sources += 1;
        key_ref(&key.name, &key.key, &path.child("configMapKeyRef"));
    }
    if let Some(key) = &source.secret_key_ref {
        sources += 1;
        key_ref(&key.name, &key.key, &path.child("secretKeyRef"));
    }
    if let Some(key) = &source.file_key_ref {
        sources += 1;
        file_key_ref(key, &path.child("fileKeyRef"));
    }
    if sources == 0 {
        let why = if opts.env_files {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
             `secretKeyRef` or `fileKeyRef`"
        } else {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or \
             `secretKeyRef`"
        };
        path.invalid("", why);
    } else if !text(&var.value).is_empty() {
        path.invalid("", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        path.invalid("", TOO_MANY);
    }
}

/// Follows `validateObjectFieldSelector`.
pub(crate) fn field_ref(field: &ObjectFieldSelector, fields: &[&str], path: &At<'_>) {
    let version = text(&field.api_version);
    if version.is_empty() {
        path.child("apiVersion").required("");
        return;
    }
    let at = path.child("fieldPath");
    let name = field.field_path.as_str();
    if name.is_empty() {
        at.required("");
        return;
    }
    let subscripted = split_subscript(name);
    let error = if version != "v1" {
        Some(format!("unsupported pod version: {version}"))
    } else if let Some((outer, _)) = subscripted {
        let known = outer == "metadata.annotations" || outer == "metadata.labels";
        (!known).then(|| format!("field label does not support subscript: {name}"))
    } else {
        (!is_field_label(name)).then(|| format!("field label not supported: {name}"))
    };
    if let Some(error) = error {
        at.invalid(name, format!("error converting fieldPath: {error}"));
        return;
    }
    match subscripted {
        Some(("metadata.annotations", key)) => label_key(&names::lower_case(key), path),
        Some((_, key)) => label_key(key, path),
        None => {
            let name = if name == "spec.host" { "spec.nodeName" } else { name };
            if !fields.contains(&name) {
                at.not_supported(name, fields);
            }
        }
    }
}

/// `SplitMaybeSubscriptedPath` in `pkg/fieldpath`.
fn split_subscript(path: &str) -> Option<(&str, &str)> {
    let (outer, key) = path.strip_suffix("']")?.split_once("['")?;
    (!outer.is_empty()).then_some((outer, key))
}

/// `ConvertDownwardAPIFieldLabel` in `pkg/apis/core/pods`.
fn is_field_label(label: &str) -> bool {
    matches!(
        label,
        "metadata.annotations"
            | "metadata.labels"
            | "metadata.name"
            | "metadata.namespace"
            | "metadata.uid"
            | "spec.nodeName"
            | "spec.restartPolicy"
            | "spec.serviceAccountName"
            | "spec.schedulerName"
            | "status.phase"
            | "status.hostIP"
            | "status.hostIPs"
            | "status.podIP"
            | "status.podIPs"
            | "spec.host"
    )
}

/// Follows `validateContainerResourceFieldSelector`.
pub(crate) fn resource_field_ref(field: &ResourceFieldSelector, in_volume: bool, path: &At<'_>) {
    let resource = field.resource.as_str();
    let huge =
        resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if in_volume && text(&field.container_name).is_empty() {
        path.child("containerName").required("");
    } else if resource.is_empty() {
        path.child("resource").required("");
    } else if !RESOURCES.contains(&resource) && !huge {
        path.child("resource").not_supported(resource, RESOURCES);
    }
    let divisor = field.divisor.as_ref().and_then(|divisor| Quantity::parse(&divisor.0));
    if let Some(divisor) = divisor.filter(|divisor| !divisor.is_zero()) {
        self::divisor(resource, huge, &divisor.to_text(), path);
    }
}

/// Follows `validateContainerResourceDivisor`.
fn divisor(resource: &str, huge: bool, text: &str, path: &At<'_>) {
    let path = path.child("divisor");
    let of = match resource {
        "limits.cpu" | "requests.cpu" => {
            if text != "1m" && text != "1" {
                let why = "only divisor's values 1m and 1 are supported with the cpu resource";
                path.invalid(resource, why);
            }
            return;
        }
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if huge => "hugepages",
        _ => return,
    };
    let suffix = text.strip_prefix('1');
    let suffixes = ["", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if !suffix.is_some_and(|suffix| suffixes.contains(&suffix)) {
        let why = format!(
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are \
             supported with the {of} resource"
        );
        path.invalid(resource, why);
    }
}

/// Follows `validateConfigMapKeySelector` and `validateSecretKeySelector`.
fn key_ref(name: &str, key: &str, path: &At<'_>) {
    each(names::dns1123_subdomain(name), name, &path.child("name"));
    filled(key, names::config_map_key, &path.child("key"));
}

/// Follows `validateFileKeySelector`.
fn file_key_ref(file: &FileKeySelector, path: &At<'_>) {
    filled(&file.key, names::relaxed_env_var_name, &path.child("key"));
    filled(&file.volume_name, names::dns1123_label, &path.child("volumeName"));
    filled(&file.path, names::no_backsteps, &path.child("path"));
}

/// Follows `ValidateEnvFrom`.
pub(crate) fn validate_from(sources: &[EnvFromSource], opts: &Options, path: &At<'_>) {
    for (source, at) in path.items(sources) {
        if let Some(prefix) = source.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            each(name_messages(prefix, opts), prefix, &at.child("prefix"));
        }
        if let Some(map) = &source.config_map_ref {
            source_name(&map.name, &at.child("configMapRef"));
        }
        if let Some(secret) = &source.secret_ref {
            source_name(&secret.name, &at.child("secretRef"));
        }
        // Upstream reports this for the list, not for the entry.
        match (&source.config_map_ref, &source.secret_ref) {
            (None, None) => path.invalid("", "must specify one of: `configMapRef` or `secretRef`"),
            (Some(_), Some(_)) => path.invalid("", TOO_MANY),
            _ => {}
        }
    }
}

/// `validateConfigMapEnvSource`, `validateSecretEnvSource`: the name may end in a dash, like a prefix.
fn source_name(name: &str, path: &At<'_>) {
    let check = |name: &str| names::dns1123_subdomain(&without_trailing_dash(name));
    filled(name, check, &path.child("name"));
}

/// `validateFileKeyRefVolumes`: the volume must exist and be an emptyDir.
pub(crate) fn file_volumes(spec: &PodSpec, claims: &[&str], path: &At<'_>) {
    let mut sources = None;
    visit(spec, path, &mut |container, path| {
        for (i, var) in list(&container.env).iter().enumerate() {
            let source = var.value_from.as_ref().and_then(|from| from.file_key_ref.as_ref());
            let Some(name) = source.map(|source| source.volume_name.as_str()) else { continue };
            let at = path.item("env", i);
            let at = at.below("valueFrom.fileKeyRef.volumeName");
            // If several volumes share a name, the last one counts.
            let sources: &mut HashMap<&str, bool> = sources.get_or_insert_with(|| {
                let volumes = list(&spec.volumes).iter();
                let volumes = volumes.map(|v| (v.name.as_str(), v.empty_dir.is_some()));
                volumes.chain(claims.iter().map(|claim| (*claim, false))).collect()
            });
            match sources.get(name) {
                Some(true) => {}
                Some(false) => at.invalid(name, "referenced volume must be of type emptyDir"),
                None => at.not_found(name),
            }
        }
    });
}

use k8s_openapi::api::core::v1::{CSIVolumeSource, FlexVolumeSource};

use crate::validation::prelude::*;

/// Follows `validateFlexVolumeSource`.
pub(super) fn flex_volume(source: &FlexVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.driver, &path.child("driver"), found);
    for key in source.options.iter().flatten().map(|(key, _)| key) {
        let namespace = key.split('/').next().unwrap_or(key).to_lowercase();
        let reserved = |domain: &str| {
            let rest = namespace.strip_suffix(domain);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if reserved("kubernetes.io") || reserved("k8s.io") {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            found.invalid(&path.child("options").key(key), key, why);
        }
    }
}

/// Follows `validateCSIVolumeSource` and `ValidateCSIDriverName`.
pub(super) fn csi(source: &CSIVolumeSource, opts: &Options, path: &Path<'_>, found: &mut Findings) {
    let (driver, at) = (source.driver.as_str(), path.child("driver"));
    if driver.is_empty() {
        found.required(&at, "");
    }
    if !driver.is_empty() || opts.empty_csi_driver_is_a_name {
        if driver.len() > 63 {
            found.too_long(&at, 63);
        }
        each(names::dns1123_subdomain(&names::lower_case(driver)), driver, &at, found);
    }
    if let Some(secret) = &source.node_publish_secret_ref {
        if secret.name.is_empty() {
            found.required(&path.child("nodePublishSecretRef").child("name"), "");
        } else {
            // The path is upstream's.
            let at = path.child("name");
            each(names::dns1123_subdomain(&secret.name), &secret.name, &at, found);
        }
    }
}

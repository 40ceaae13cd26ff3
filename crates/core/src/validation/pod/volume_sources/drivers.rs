use k8s_openapi::api::core::v1::{CSIVolumeSource, FlexVolumeSource};

use crate::validation::prelude::*;

/// Follows `validateFlexVolumeSource`.
pub(super) fn flex_volume(source: &FlexVolumeSource, path: &At<'_>) {
    required(&source.driver, &path.child("driver"));
    for key in source.options.iter().flatten().map(|(key, _)| key) {
        let namespace = key.split('/').next().unwrap_or(key).to_lowercase();
        if is_reserved(&namespace) {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            path.child("options").key(key).invalid(key, why);
        }
    }
}

/// Follows `validateCSIVolumeSource` and `ValidateCSIDriverName`.
pub(super) fn csi(source: &CSIVolumeSource, opts: &Options, path: &At<'_>) {
    let (driver, at) = (source.driver.as_str(), path.child("driver"));
    if driver.is_empty() {
        at.required("");
    }
    if !driver.is_empty() || opts.empty_csi_driver_is_a_name {
        if driver.len() > 63 {
            at.too_long(63);
        }
        each(names::dns1123_subdomain(&names::lower_case(driver)), driver, &at);
    }
    if let Some(secret) = &source.node_publish_secret_ref {
        if secret.name.is_empty() {
            path.child("nodePublishSecretRef").child("name").required("");
        } else {
            // The path is upstream's.
            let at = path.child("name");
            each(names::dns1123_subdomain(&secret.name), &secret.name, &at);
        }
    }
}

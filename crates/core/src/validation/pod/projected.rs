//! Projected volumes. Signer names follow `pkg/apis/core/validation/names.go`.

use k8s_openapi::api::core::v1::{
    ClusterTrustBundleProjection, PodCertificateProjection, ProjectedVolumeSource,
    ServiceAccountTokenProjection,
};
use serde_json::json;

use super::{
    util::local_path_messages,
    volume_sources::files::{downward_api_file, key_path},
};
use crate::validation::prelude::*;

type UsedPaths<'a> = Seen<&'a str>;

/// Reports a duplicate path at the volume.
fn take<'a>(at: &'a str, value: &str, taken: &mut UsedPaths<'a>, path: &At<'_>) {
    if !taken.insert(at) {
        path.invalid(value, "conflicting duplicate paths");
    }
}

/// Follows `validateProjectedVolumeSource`.
pub(crate) fn validate(source: &ProjectedVolumeSource, opts: &Options, path: &At<'_>) {
    file_mode(source.default_mode, &path.child("defaultMode"));
    unix_id(source.default_user, &path.child("defaultUser"));
    let mut taken = UsedPaths::new();
    for (i, source) in list(&source.sources).iter().enumerate() {
        let at = path.item("sources", i);
        let mut given = 0;
        let keyed = [
            ("secret", source.secret.as_ref().map(|s| (&s.name, &s.items))),
            ("configMap", source.config_map.as_ref().map(|m| (&m.name, &m.items))),
        ];
        for (field, keyed) in keyed {
            let Some((name, items)) = keyed else { continue };
            given += 1;
            let at = at.child(field);
            required(name, &at.child("name"));
            for (i, item) in list(items).iter().enumerate() {
                key_path(item, &at.child("items").index(i));
                if !item.path.is_empty() {
                    take(&item.path, name, &mut taken, path);
                }
            }
        }
        if let Some(downward) = &source.downward_api {
            given += 1;
            for file in list(&downward.items) {
                downward_api_file(file, &at.child("downwardAPI"));
                if !file.path.is_empty() {
                    take(&file.path, &file.path, &mut taken, path);
                }
            }
        }
        if let Some(token) = &source.service_account_token {
            given += 1;
            self::token(token, opts, &at.child("serviceAccountToken"), path);
        }
        if let Some(bundle) = &source.cluster_trust_bundle {
            given += 1;
            trust_bundle(bundle, opts, &at.child("clusterTrustBundle"));
            take(&bundle.path, &bundle.path, &mut taken, path);
        }
        if let Some(certificate) = &source.pod_certificate {
            given += 1;
            let at = at.child("podCertificate");
            pod_certificate(certificate, &mut taken, &at, path);
        }
        if given > 1 {
            at.forbidden("may not specify more than 1 volume type per source");
        }
    }
}

/// Upstream reports errors in a token's path at the volume.
fn token(token: &ServiceAccountTokenProjection, opts: &Options, at: &At<'_>, path: &At<'_>) {
    unix_id(token.user, &at.child("user"));
    let seconds = token.expiration_seconds.unwrap_or(0);
    let at = at.child("expirationSeconds");
    if seconds < 10 * 60 {
        at.invalid(seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds > 1 << 32 {
        at.invalid(seconds, "may not specify a duration larger than 2^32 seconds");
    }
    if token.path.is_empty() {
        path.child("path").required("");
    } else if !opts.non_local_token_path {
        local_path(&token.path, &path.child("path"));
    }
}

/// Follows `hasNonLocalProjectedTokenPath`.
pub(crate) fn has_non_local_token_path(spec: &PodSpec) -> bool {
    let volumes = list(&spec.volumes).iter().filter_map(|volume| volume.projected.as_ref());
    volumes
        .flat_map(|projected| list(&projected.sources))
        .filter_map(|source| source.service_account_token.as_ref())
        .any(|token| !local_path_messages(&token.path).is_empty())
}

fn trust_bundle(bundle: &ClusterTrustBundleProjection, opts: &Options, path: &At<'_>) {
    match (bundle.name.as_deref(), bundle.signer_name.as_deref()) {
        (Some(_), Some(_)) => {
            let mut value = json!({
                "Name": bundle.name,
                "SignerName": bundle.signer_name,
                "LabelSelector": selector::to_json(bundle.label_selector.as_ref()),
                "Optional": bundle.optional,
                "Path": bundle.path,
            });
            if opts.trust_bundle_user {
                value["User"] = json!(bundle.user);
            }
            path.invalid(Value::json(&value), "only one of name and signerName may be used");
        }
        (Some(name), None) => {
            let at = path.child("name");
            if name.is_empty() {
                at.required("must be a valid object name");
            }
            for message in trust_bundle_name(name) {
                at.invalid(name, format!("not a valid clustertrustbundlename: {message}"));
            }
            if bundle.label_selector.is_some() {
                let value = selector::to_value(bundle.label_selector.as_ref());
                let why = "labelSelector must be unset if name is specified";
                path.child("labelSelector").invalid(value, why);
            }
        }
        (None, Some(signer)) => {
            let at = path.child("signerName");
            if signer.is_empty() {
                at.required("must be a valid signer name");
            }
            signer_name(signer, &at);
            let selector = bundle.label_selector.as_ref();
            label_selector(selector, &path.child("labelSelector"));
        }
        (None, None) => path.required("either name or signerName must be specified"),
    }
    required(&bundle.path, &path.child("path"));
    unix_id(bundle.user, &path.child("user"));
    local_path(&bundle.path, &path.child("path"));
}

/// Follows `ValidateClusterTrustBundleName`.
fn trust_bundle_name(name: &str) -> Vec<&'static str> {
    // Upstream expects a prefix made from the part before the last colon, so that part always matches.
    let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
    names::dns1123_subdomain(name)
}

fn pod_certificate<'a>(
    certificate: &'a PodCertificateProjection,
    taken: &mut UsedPaths<'a>,
    at: &At<'_>,
    path: &At<'_>,
) {
    const KEY_TYPES: &[&str] =
        &["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
    let signer = certificate.signer_name.as_str();
    signer_name(signer, &at.child("signerName"));
    user_annotations(certificate, &at.child("userAnnotations"));
    unix_id(certificate.user, &at.child("user"));
    if !KEY_TYPES.contains(&certificate.key_type.as_str()) {
        at.child("keyType").not_supported(&certificate.key_type, KEY_TYPES);
    }
    if let Some(seconds) = certificate.max_expiration_seconds {
        let at = at.child("maxExpirationSeconds");
        if seconds < 3600 {
            at.invalid(seconds, "if provided, maxExpirationSeconds must be >= 3600");
        }
        let host = signer.split('/').next().unwrap_or(signer);
        let builtin = host == "kubernetes.io" || host.ends_with(".kubernetes.io");
        let most = if builtin { 24 * 60 * 60 } else { 91 * 24 * 60 * 60 };
        if seconds > most {
            at.invalid(seconds, format!("if provided, maxExpirationSeconds must be <= {most}"));
        }
    }
    let paths = [
        ("credentialBundlePath", &certificate.credential_bundle_path),
        ("keyPath", &certificate.key_path),
        ("certificateChainPath", &certificate.certificate_chain_path),
    ];
    let mut given = false;
    for (field, value) in paths {
        let Some(value) = value.as_deref().filter(|value| !value.is_empty()) else { continue };
        given = true;
        local_path(value, &at.child(field));
        take(value, value, taken, path);
    }
    if !given {
        let why = "specify at least one of credentialBundlePath, keyPath, and \
                   certificateChainPath";
        at.required(why);
    }
}

/// Follows `ValidateUserAnnotations`.
fn user_annotations(certificate: &PodCertificateProjection, path: &At<'_>) {
    let mut size = 0;
    for (key, value) in certificate.user_annotations.iter().flatten() {
        size += key.len() + value.len();
        let key = names::lower_case(key);
        if key.is_empty() {
            path.required("");
            continue;
        }
        let wrong = names::label_key(&key);
        if wrong.is_empty() && !key.contains('/') {
            path.invalid(&key, "must be a domain-prefixed key (such as \"acme.io/foo\")");
        }
        each(wrong, &key, path);
    }
    if size > 256 * 1024 {
        path.too_long(256 * 1024);
    }
}

/// Follows `ValidateSignerName`.
fn signer_name(name: &str, path: &At<'_>) {
    if name.is_empty() {
        path.required("");
        return;
    }
    let (domain, rest) = match name.split_once('/') {
        Some((domain, rest)) if !rest.contains('/') => (domain, rest),
        _ => {
            let why = "must be a fully qualified domain and path of the form \
                       'example.com/signer-name'";
            path.invalid(name, why);
            return;
        }
    };
    if domain.len() > 253 {
        path.too_long(253);
    }
    signer_part(domain, names::dns1123_label, path);
    if !domain.contains('.') {
        path.invalid(domain, "should be a domain with at least two segments separated by dots");
    }
    signer_part(rest, names::dns1123_subdomain, path);
    if name.len() > 571 {
        path.too_long(571);
    }
}

/// Reports only the first invalid label.
fn signer_part(part: &str, check: fn(&str) -> Vec<&'static str>, path: &At<'_>) {
    let first = part.split('.').map(|label| (label, check(label))).find(|(_, w)| !w.is_empty());
    for (label, message) in
        first.into_iter().flat_map(|(label, wrong)| wrong.into_iter().map(move |w| (label, w)))
    {
        path.invalid(part, format!("validating label {}: {message}", Value::Str(label)));
    }
}

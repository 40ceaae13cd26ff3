use k8s_openapi::api::core::v1::DownwardAPIVolumeFile;

/// For a string that is not a pointer in Go: absent and empty are equal.
pub(super) fn text(value: &mut Option<String>, default: &str) {
    if is_empty(value.as_deref()) {
        *value = Some(default.to_owned());
    }
}

pub(super) fn is_empty(value: Option<&str>) -> bool {
    value.unwrap_or_default().is_empty()
}

/// Kubernetes finds no tag in an image name that it cannot parse; only the empty name is handled here.
pub(super) fn pull_policy_of(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, None), |(n, d)| (n, Some(d)));
    let last = name.rsplit('/').next().unwrap_or_default();
    let tag = last.split_once(':').map(|(_, tag)| tag);
    match (tag, digest) {
        (Some("latest"), _) => "Always",
        (None, None) if !name.is_empty() => "Always",
        _ => "IfNotPresent",
    }
}

/// `SetDefaults_ObjectFieldSelector`
pub(super) fn field_files(files: &mut Option<Vec<DownwardAPIVolumeFile>>) {
    for field in files.iter_mut().flatten().filter_map(|file| file.field_ref.as_mut()) {
        text(&mut field.api_version, "v1");
    }
}

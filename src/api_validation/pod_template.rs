//! What kube-apiserver refuses in the spec of a pod template.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodSpec;

use crate::{cluster::Cluster, field::Path, finding::Findings};

/// What the judgement of a pod spec depends on beside the spec.
#[derive(Clone, Copy, Debug)]
pub struct PodOptions<'a> {
    /// The cluster that the pod is meant for.
    pub cluster: &'a Cluster,
    /// Names of a StatefulSet's claim templates, which count as volumes.
    pub claims: &'a [&'a str],
    /// The spec as it was, on UPDATE.
    pub old: Option<&'a PodSpec>,
}

/// Finds what the API server would refuse in a pod spec.
pub(super) fn validate_pod_spec(
    spec: &PodSpec,
    annotations: Option<&BTreeMap<String, String>>,
    path: &Path<'_>,
    opts: &PodOptions<'_>,
    found: &mut Findings,
) {
    let _ = (spec, annotations, path, opts, found);
}

//! Writes to the scale subresource of a StatefulSet.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::review::{Operation, Rejection, Request};
use crate::engine::Scaling;

/// An `autoscaling/v1` Scale. Fields that are zero are absent.
#[derive(Deserialize)]
struct Scale {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    resource_version: String,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    replicas: i32,
}

/// `None` if the request is not such a write.
pub(super) fn read<'a>(request: &'a Request<'a>) -> Option<Result<Scaling<'a>, Rejection>> {
    // The Scale of a Deployment has the same kind.
    let (kind, resource) = (&request.kind, request.resource.as_ref()?);
    let is_scale = &*kind.group == "autoscaling" && &*kind.kind == "Scale";
    let of_stateful_set = &*resource.group == "apps" && &*resource.resource == "statefulsets";
    let is_update = request.operation == Operation::Update;
    if !(is_scale && of_stateful_set && is_update && &*request.sub_resource == "scale") {
        return None;
    }
    let scale = |scale: Option<&RawValue>| -> Result<Scale, Rejection> {
        let scale = scale.ok_or(Rejection::NoObject(request.operation.as_str()))?;
        Ok(serde_json::from_str(scale.get())?)
    };
    let read = || {
        let (old, new) = (scale(request.old_object)?, scale(request.object)?);
        let (from, to) = (old.spec.replicas, new.spec.replicas);
        let version = old.metadata.resource_version.parse().ok();
        Ok(Scaling { namespace: &request.namespace, name: &request.name, from, to, version })
    };
    Some(read())
}

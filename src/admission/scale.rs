//! Reads a write to the scale subresource of a StatefulSet.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::review::{Operation, Rejection, Request};
use crate::engine::Scaling;

/// An `autoscaling/v1` Scale. Numbers that are zero are left out.
#[derive(Deserialize)]
struct Scale {
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    replicas: i32,
}

/// Returns the change of the number of pods, if the request is one.
pub(super) fn read<'a>(request: &'a Request<'a>) -> Option<Result<Scaling<'a>, Rejection>> {
    // The Scale of a Deployment has the same kind.
    let (kind, resource) = (&request.kind, request.resource.as_ref()?);
    let is_scale = &*kind.group == "autoscaling" && &*kind.kind == "Scale";
    let of_stateful_set = &*resource.group == "apps" && &*resource.resource == "statefulsets";
    let is_update = request.operation == Operation::Update;
    if !(is_scale && of_stateful_set && is_update && &*request.sub_resource == "scale") {
        return None;
    }
    let replicas = |scale: Option<&RawValue>| -> Result<i32, Rejection> {
        let scale = scale.ok_or(Rejection::NoObject(request.operation.as_str()))?;
        let scale: Scale = serde_json::from_str(scale.get())?;
        Ok(scale.spec.replicas)
    };
    let read = || {
        let (from, to) = (replicas(request.old_object)?, replicas(request.object)?);
        Ok(Scaling { namespace: &request.namespace, name: &request.name, from, to })
    };
    Some(read())
}

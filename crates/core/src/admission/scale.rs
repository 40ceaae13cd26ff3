//! Writes to the scale subresource of a StatefulSet.

use k8s_openapi::api::autoscaling::v1::Scale;
use serde_json::value::RawValue;

use super::review::{Operation, Rejection, Request};
use crate::engine::Scaling;

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
        // A field that is zero is absent.
        let [from, to] =
            [&old, &new].map(|it| it.spec.as_ref()?.replicas).map(Option::unwrap_or_default);
        let version = old.metadata.resource_version.and_then(|it| it.parse().ok());
        Ok(Scaling { namespace: &request.namespace, name: &request.name, from, to, version })
    };
    Some(read())
}

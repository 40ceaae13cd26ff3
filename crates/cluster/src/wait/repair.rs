//! The repairs of `--repair`, only commands that setguard would also print, and none that can lose data; and the
//! annotations of sets.

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};

use super::decision::Repair;
use crate::prelude::*;

/// This annotation makes the controller of a set try again.
pub(crate) const TRY_AGAIN: &str = "setguard.io/try-again";
/// The stuck generation, and the reason.
pub(crate) const STUCK: &str = "setguard.io/stuck";

pub(crate) async fn annotate(
    reader: &Reader,
    target: &Target,
    key: &str,
    value: Option<&str>,
) -> Result<(), Problem> {
    let path = Collection::of(target.kind.into()).list(Some(&target.namespace)).path;
    let patch = json!({"metadata": {"annotations": {key: value}}});
    let params =
        PatchParams { field_manager: Some("setguard-wait".to_owned()), ..PatchParams::default() };
    let request = core::Request::new(path).patch(&target.name, &params, &Patch::Merge(patch));
    reader.send(request).await.map(drop)
}

/// Makes a repair, and returns a message about it. Deletes a pod only if it still has this uid.
pub(crate) async fn repair(
    reader: &Reader,
    target: &Target,
    what: &Repair,
    uid: Option<String>,
    now: Timestamp,
) -> Result<String, String> {
    let namespace = &target.namespace;
    let done = match what {
        Repair::DeletePod(pod) => {
            let pods = core::Request::new(format!("/api/v1/namespaces/{namespace}/pods"));
            let preconditions = Preconditions { uid, resource_version: None };
            let params =
                DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            let said = format!("deleted pod {pod}, which held up the new revision");
            reader.send(pods.delete(pod, &params)).await.map(|_| said)
        }
        Repair::Poke => {
            let said = format!("set the annotation {TRY_AGAIN}, so that the controller tries now");
            annotate(reader, target, TRY_AGAIN, Some(&now.to_string())).await.map(|()| said)
        }
    };
    done.map_err(|problem: Problem| match what {
        Repair::DeletePod(pod) => format!("cannot delete pod {pod}: {problem}"),
        Repair::Poke => format!("cannot set the annotation {TRY_AGAIN}: {problem}"),
    })
}

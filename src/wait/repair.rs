//! The repairs of `--repair`: only what the command would print, and nothing that can lose data.

use jiff::Timestamp;
use kube::{
    api::{DeleteParams, Patch, PatchParams, Preconditions},
    core,
};
use serde_json::json;

use super::{obstacle::Repair, target::Target};
use crate::{
    audit::collections::SETS,
    live::{
        call::Problem,
        reader::{List, Reader},
    },
};

/// The annotation that makes the controller of a set try again.
const TRY_AGAIN: &str = "setguard.io/try-again";

/// Does what is to be done for a set, and says so. A pod is deleted only if it still has this uid.
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
            let Some(collection) = SETS.iter().find(|it| it.kind == target.kind.as_str()) else {
                return Err(format!("{} is not a kind of set", target.kind));
            };
            let List { path, .. } = collection.list(Some(namespace));
            let patch = json!({"metadata": {"annotations": {TRY_AGAIN: now.to_string()}}});
            let params = PatchParams {
                field_manager: Some("setguard-wait".to_owned()),
                ..PatchParams::default()
            };
            let request =
                core::Request::new(path).patch(&target.name, &params, &Patch::Merge(patch));
            let said = format!("set the annotation {TRY_AGAIN}, so that the controller tries now");
            reader.send(request).await.map(|_| said)
        }
    };
    done.map_err(|problem: Problem| match what {
        Repair::DeletePod(pod) => format!("cannot delete pod {pod}: {problem}"),
        Repair::Poke => format!("cannot set the annotation {TRY_AGAIN}: {problem}"),
    })
}

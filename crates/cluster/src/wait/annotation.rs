use kube::api::{Patch, PatchParams};

use super::target::Target;
use crate::live::{call::Problem, collections::Collection, reader::Reader};
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

//! Tolerations that stay in a template after the label that requested them was removed.

use serde_json::{Value, json};

use super::settings::Settings;
use crate::rules::control_plane_tolerations_left::CONTROL_PLANE_TOLERATIONS_LEFT;
use crate::{
    finding::{Command, Effect, Findings, Help, Reason, paths::TOLERATIONS},
    kubernetes::{resource::WorkloadKind, tolerations::covers},
    object::{Subject, annotations::CONTROL_PLANE_LABEL},
    rules::read,
};

/// Finds injected tolerations in an update that removes the label that requested them. `is_written` is whether the
/// manifest has tolerations. Without a manifest, the managed fields show it: no manager owns the fields that a webhook
/// adds.
pub fn find(
    subject: &Subject<'_>,
    is_written: Option<bool>,
    settings: &Settings,
    found: &mut Findings,
) {
    let object = &subject.object;
    let asks = |label: Option<&str>| label == Some("true");
    let asked = subject.old().is_some_and(|old| asks(old.metadata.label(CONTROL_PLANE_LABEL)));
    if object.kind() != WorkloadKind::DaemonSet
        || !asked
        || asks(object.metadata.label(CONTROL_PLANE_LABEL))
    {
        return;
    }
    let owned = object.metadata.managed_fields.json().unwrap_or_default();
    if is_written.unwrap_or_else(|| owned.contains("\"f:tolerations\"")) {
        return;
    }
    let spec = object.template().spec.as_ref();
    let list = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let injected: Vec<_> = settings.tolerations.iter().map(Into::into).collect();
    let left: Vec<usize> = (0..list.len())
        .filter(|i| injected.iter().any(|it| covers(it, &list[*i]) && covers(&list[*i], it)))
        .collect();
    if left.is_empty() {
        return;
    }
    found.set_rule(CONTROL_PLANE_TOLERATIONS_LEFT);
    // A file has no status.
    let pods = read::daemon_set_status(object).map_or(usize::MAX, |status| {
        usize::try_from(status.desired_number_scheduled).unwrap_or_default()
    });
    found.report(
        &TOLERATIONS,
        Reason::Forbidden,
        format!(
            "the label {CONTROL_PLANE_LABEL} goes, and the tolerations that setguard added for it stay: no manager \
             owns them, so no apply removes them, and the pods stay on control plane nodes; unless the namespace has the \
             label too"
        ),
        Help::say("to remove them, run ").run(remove(subject, &left, list.len(), pods)),
    );
}

fn remove(subject: &Subject<'_>, left: &[usize], length: usize, pods: usize) -> Command {
    let pointer = TOLERATIONS.to_field().pointer();
    let remove = |path: String| json!({ "op": "remove", "path": path });
    // From the end, so that the remaining indexes stay valid.
    let operations: Value = match left.len() == length {
        true => json!([remove(pointer)]),
        false => left.iter().rev().map(|i| remove(format!("{pointer}/{i}"))).collect(),
    };
    let patch = format!("patch ds --type=json --patch='{operations}'");
    read::kubectl(Effect::Restarts(pods), &patch, &subject.object, subject.object.name())
}

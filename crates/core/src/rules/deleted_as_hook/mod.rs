use crate::{
    finding::paths::ANNOTATIONS,
    inventory::configs::{ARGO_HOOK, HELM_HOOK, SYNC_OPTIONS},
    object::Metadata,
    rules::prelude::*,
};

pub(super) static RULE: Rule = rule! {
    id: "deleted-as-hook", group: Rollout;
    title: "Helm or Argo CD deletes this set",
    summary: "a set that becomes a hook or that Argo CD replaces by force: it is deleted",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

/// A release has no hooks, so an upgrade deletes what the release had under this name. Helm runs the hooks of
/// `pre-upgrade` before that.
///
/// Helm: `Update`, pkg/kube/client.go; `performUpgrade`, pkg/action/upgrade.go.
fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if let Some((key, why)) = recreated(subject) {
        let message = format!(
            "each sync of Argo CD deletes this set with its pods and creates it again, because {why}"
        );
        let help = "leave the annotation out";
        found.report(&ANNOTATIONS.key(key), Reason::Invalid, message, help);
        return;
    }
    let hook = subject.old().and_then(|old| becomes_hook(&old.metadata, &subject.object.metadata));
    let Some(hook) = hook else { return };
    let then = recreation(hook);
    let message = format!(
        "`helm upgrade` deletes this set with its pods, because a hook is no part of the release, and {then}"
    );
    let help = "leave the annotation out, or give the hook another name";
    found.report(&ANNOTATIONS.key(HELM_HOOK), Reason::Invalid, message, help);
}

fn value<'m>(of: &'m Metadata<'_>, annotation: &str) -> Option<&'m str> {
    Some(&**of.annotations.as_ref()?.get(annotation)?)
}

/// Returns the annotation that makes Argo CD recreate a set, and the reason. A DaemonSet may be a hook that only pulls
/// images.
///
/// Argo CD: `runTasks` and `applyObject`, gitops-engine/pkg/sync/sync_context.go; `NewHookDeletePolicy`.
fn recreated(subject: &Subject<'_>) -> Option<(&'static str, &'static str)> {
    let metadata = &subject.object.metadata;
    let options = value(metadata, SYNC_OPTIONS).unwrap_or_default();
    let has = |wanted| options.split(',').any(|it| it.trim() == wanted);
    if has("Force=true") && has("Replace=true") {
        return Some((SYNC_OPTIONS, "it replaces the set by force"));
    }
    let hook = value(metadata, ARGO_HOOK)?;
    let becomes_one = || subject.old().is_some_and(|it| value(&it.metadata, ARGO_HOOK).is_none());
    let is_daemon = matches!(subject.object.workload, Workload::DaemonSet(_));
    let is_hook = !matches!(hook.trim(), "" | "Skip");
    (is_hook && (!is_daemon || becomes_one())).then_some((ARGO_HOOK, "it is a hook"))
}

/// Returns the hook that an object becomes, if Helm deletes the object because of that.
pub fn becomes_hook<'a>(old: &Metadata<'_>, new: &'a Metadata<'_>) -> Option<&'a str> {
    let old = |key| value(old, key);
    let is_kept = old("helm.sh/resource-policy") == Some("keep");
    let hook = value(new, HELM_HOOK)?;
    (old(HELM_HOOK).is_none() && !is_kept).then_some(hook)
}

/// Returns what happens to an object after Helm deletes it because it becomes this hook.
pub fn recreation(hook: &str) -> &'static str {
    match hook.split(',').any(|it| it.trim() == "post-upgrade") {
        true => "its hook creates it again only after the upgrade",
        false => "no hook creates it after that",
    }
}

use crate::{finding::paths::ANNOTATIONS, object::Metadata, rules::prelude::*};

pub(super) static RULE: Rule = rule! {
    id: "deleted-as-hook", group: Rollout;
    title: "Helm deletes a set that becomes a hook",
    summary: "a set of a release that becomes a hook, so that Helm deletes it",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

const HOOK: &str = "helm.sh/hook";

/// A release has no hooks, so an upgrade deletes what the release had under this name. Helm runs the hooks of
/// `pre-upgrade` before that.
///
/// Helm: `Update`, pkg/kube/client.go; `performUpgrade`, pkg/action/upgrade.go.
fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let hook = subject.old().and_then(|old| becomes_hook(&old.metadata, &subject.object.metadata));
    let Some(hook) = hook else { return };
    let then = recreation(hook);
    let message = format!(
        "`helm upgrade` deletes this set with its pods, because a hook is no part of the release, and {then}"
    );
    let help = "leave the annotation out, or give the hook another name";
    found.report(&ANNOTATIONS.key(HOOK), Reason::Invalid, message, help);
}

/// Returns the hook that an object becomes if Helm deletes it therefore.
pub fn becomes_hook<'a>(old: &Metadata<'_>, new: &'a Metadata<'_>) -> Option<&'a str> {
    let old = |key| Some(&**old.annotations.as_ref()?.get(key)?);
    let is_kept = old("helm.sh/resource-policy") == Some("keep");
    let hook = new.annotations.as_ref()?.get(HOOK)?;
    (old(HOOK).is_none() && !is_kept).then_some(&**hook)
}

/// Returns what becomes of an object that Helm deletes because it becomes this hook.
pub fn recreation(hook: &str) -> &'static str {
    match hook.split(',').any(|it| it.trim() == "post-upgrade") {
        true => "its hook creates it again only after the upgrade",
        false => "no hook creates it after that",
    }
}

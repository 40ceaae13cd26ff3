//! Revisions that no longer belong to a set.

use std::collections::BTreeMap;

use super::phrases::{count, names, words};
use crate::{
    finding::{Effect, Facts, Help, Meta, Mode, Path},
    kubernetes::kind::Kind,
    observed::Revision,
    rules::rule::{
        Rule, Scope, StatusCheck,
        status::{Audit, ObjectName, Report, StatusFindings},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "revision-orphan",
        summary: "ControllerRevisions that no DaemonSet or StatefulSet owns",
        why: "\
When a DaemonSet or StatefulSet is deleted with `--cascade=orphan`, its pods and its ControllerRevisions stay.
A new set with a selector that matches adopts both. If there is no such set, the revisions are never deleted.
A later set with that selector adopts them, with templates that are long forgotten, and `kubectl rollout undo`
may go back to one of them.

Seen on a 1.36 control plane: a StatefulSet deleted with `--cascade=orphan`, and its pod deleted: the
ControllerRevision stays.

One finding names all revisions of one former set, and is about the first of them.

Kubernetes: `controlledHistories`, pkg/controller/daemon/update.go; `adoptOrphanRevisions`,
pkg/controller/statefulset/stateful_set.go.",
        bad: include_str!("examples/revision-orphan.bad.yaml"),
        good: include_str!("examples/revision-orphan.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Status { kinds: &[Kind::ControllerRevision], check: StatusCheck::Others(check) },
};

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    let mut groups: BTreeMap<(&str, &str), Vec<&Revision>> = BTreeMap::new();
    for revision in audit.observed.orphans() {
        if audit.is_long_ago(revision.created) {
            let set = revision.name.rsplit_once('-').map_or(&*revision.name, |(set, _)| set);
            groups.entry((&revision.namespace, set)).or_default().push(revision);
        }
    }
    for ((namespace, set), mut revisions) in groups {
        revisions.sort_by_key(|it| &it.name);
        let Some(first) = revisions.first() else { continue };
        let list: Vec<&str> = revisions.iter().map(|it| &*it.name).collect();
        let title = format!(
            "{} of a former set {set} without an owner",
            count(list.len(), "ControllerRevision")
        );
        let all = names(list.iter().copied());
        let message = format!("{title}: {all}");
        let facts = Facts::title(title).cause(format!("no set owns {all}"));
        let (those, more) = words(&list);
        let kubectl = audit.kubectl(namespace);
        let delete = kubectl.does(Effect::Changes, "delete controllerrevision", those);
        let help =
            Help::say("create the set again, which adopts them, or run ").run(delete).and(more);
        let about = ObjectName {
            namespace: namespace.into(),
            kind: Kind::ControllerRevision,
            name: first.name.clone(),
            api_version: "apps/v1",
            uid: first.uid.clone(),
        };
        let metadata = Path::new("metadata");
        let path = metadata.child("ownerReferences");
        found.add(Report::new(&path, message, help).about(about).facts(facts));
    }
}

use crate::observed::Revision;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "revision-orphan", group: Cluster;
    title: "no set owns these revisions",
    summary: "ControllerRevisions that no DaemonSet or StatefulSet owns",
    scopes: [Scope::Status { kinds: &[Kind::ControllerRevision], check: StatusCheck::Others(check) }],
};

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    let going = audit.observed.sets().filter(|it| it.is_being_deleted());
    let going: BTreeSet<_> = going.map(|it| (it.namespace(), it.name())).collect();
    let mut groups: BTreeMap<(&str, &str), Vec<&Revision>> = BTreeMap::new();
    for revision in audit.observed.orphans() {
        if audit.is_long_ago(revision.created) {
            let set = revision.name.rsplit_once('-').map_or(&*revision.name, |(set, _)| set);
            // A different finalizer holds up a deletion that has already left the pods and revisions.
            if !going.contains(&(&*revision.namespace, set)) {
                groups.entry((&revision.namespace, set)).or_default().push(revision);
            }
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
        let pods: usize = revisions.iter().map(|it| audit.observed.strays(it)).sum();
        let strays = format!("{} of it without a controller", count(pods, "pod"));
        let facts = Facts::title(title).cause(names(list.iter().copied()));
        let facts = facts.effect((pods > 0).then_some(strays));
        let (those, more) = words(&list);
        let kubectl = audit.kubectl(namespace);
        let delete = kubectl.does(Effect::Changes, "delete controllerrevision", those);
        // The revisions are the history of the pods.
        let is_needed = pods > 0 || !audit.observed.knows(Kind::Pod, namespace);
        let help = Help::say("create the set again, which adopts them");
        let help = if is_needed { help } else { help.and(", or run ").run(delete).and(more) };
        let about = ObjectName::new(Kind::ControllerRevision, namespace, &first.name, &first.uid);
        let path = METADATA.child("ownerReferences");
        found.add(StatusFinding::new(&path, facts, help).about(about));
    }
}

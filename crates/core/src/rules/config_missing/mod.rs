use super::neighbors::missing::only_elsewhere;
use crate::inventory::configs::{How, Use};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "config-missing", group: NeverStarts;
    title: "what the pods read is not there",
    summary: "a key, ConfigMap, Secret or claim that the pods need and that is not there",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// Kubernetes: `pvcProtectionController`, pkg/controller/volume/pvcprotection. The reclaim policy is usually `Delete`.
const DATA_LOST: &str = "; its data is deleted with it once no pod uses it";

const KEEP: &str =
    "keep it with helm.sh/resource-policy: keep or Prune=false until the data is elsewhere";

/// The maximum number of objects that are compared with a name.
const MOST_COMPARED: usize = 1_000;

/// The shortest part of a name where a different letter is a typo.
const SHORTEST: usize = 5;

/// Kubernetes: `makeEnvironmentVariables` and `makeMounts`, pkg/kubelet/kubelet_pods.go; `MakePayload`,
/// pkg/volume/configmap/configmap.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    // Several containers often read the same key.
    let (mut keys, mut names) = (HashSet::new(), HashSet::new());
    for it in &query.details.configs {
        if query.inventory().named_anywhere(Kind::ExternalSecret, &it.name).next().is_some() {
            continue;
        }
        let is_new = names.insert((it.kind, &*it.name));
        if is_new && query.removes(it.kind, &it.name) {
            let Use { kind, name, field, .. } = it;
            let mut same = query.inventory().named(*kind, query.item.namespace(), name);
            let (change, help) = match same.next() {
                Some(_) => (
                    format!("makes {kind} {name} a hook, so Helm deletes it"),
                    "leave out the annotation helm.sh/hook".to_owned(),
                ),
                None => (
                    format!("removes {kind} {name}"),
                    match kind {
                        Kind::PersistentVolumeClaim => KEEP.to_owned(),
                        _ => format!("keep the {kind}, or leave it out of the template too"),
                    },
                ),
            };
            let lost = if *kind == Kind::PersistentVolumeClaim { DATA_LOST } else { "" };
            let message =
                format!("the change {change}, and new pods do not start without it{lost}");
            found.via(*kind, field.clone(), Reason::NotFound, message, help);
        } else if is_new
            && it.kind == Kind::ConfigMap
            && let Some(other) = only_elsewhere(query, it.kind, &it.name)
        {
            let (at, namespace) = (other.namespace(), query.item.namespace());
            let message = format!(
                "its {other} is in namespace {at}: no pod starts in {namespace} without one there"
            );
            let help = format!("create it in {namespace}");
            found.via(it.kind, it.field.clone(), Reason::NotFound, message, help);
        } else if is_new {
            misspelled(query, it, found);
        }
        if let Some(key) = it.key.as_deref().filter(|key| keys.insert((it.kind, &*it.name, *key))) {
            lacks(query, it, key, found);
        }
    }
    let old = query.old().and_then(ObjectSummary::details).into_iter().flat_map(|it| &it.configs);
    for Use { kind, name, .. } in old {
        if *kind == Kind::PersistentVolumeClaim
            && names.insert((*kind, name))
            && query.removes(*kind, name)
        {
            let message = format!(
                "the change removes {kind} {name}, and the pods no longer use it{DATA_LOST}"
            );
            found.via(*kind, &POD_SPEC, Reason::NotFound, message, KEEP);
        }
    }
}

fn lacks(query: &Query<'_>, it: &Use, key: &str, found: &mut Findings) {
    let Use { kind, name, how, field, .. } = it;
    let namespace = query.item.namespace();
    let mut objects = query.inventory().named(*kind, namespace, name).peekable();
    let Some(first) = objects.peek().copied().filter(|_| query.knows(*kind, namespace)) else {
        return;
    };
    if *how == How::Directory {
        if objects.all(|it| it.keys().is_some_and(|keys| keys.contains(key))) {
            let message = format!(
                "without a subPath, this is a directory with the keys of its {first}, although {key} is one of them"
            );
            let help = format!("add subPath: {key}, or mount the directory above");
            found.via(*kind, field.clone(), Reason::Invalid, message, help);
        }
        return;
    }
    if objects.any(|it| it.keys().is_none_or(|keys| keys.contains(key))) {
        return;
    }
    let effect = match how {
        How::Env => "so the container never starts",
        How::Volume => "so the volume is never mounted, and no container starts",
        How::SubPath | How::Directory => "so the kubelet mounts an empty directory there",
        How::Argument => "so the program doesn't find this file",
        How::Executed | How::Script => "so the command doesn't find this file",
    };
    let own = first.keys().into_iter().flatten().map(|key| &**key);
    let help = match nearest_of(key, own) {
        Some(near) => format!("write {near}, or add {key} to the {kind}"),
        None => format!("add {key} to the {kind}, or name a key that it has"),
    };
    let message = format!("its {first} has no key {key}, {effect}");
    found.via(*kind, field.clone(), Reason::NotFound, message, help);
}

/// Reports a name that no object has, if exactly one object has nearly the same name and nothing uses that object.
fn misspelled(query: &Query<'_>, it: &Use, found: &mut Findings) {
    let Use { kind, name, field, .. } = it;
    if !is_missing(query, *kind, name) {
        return;
    }
    let namespace = query.item.namespace();
    let others = |kind| query.inventory().in_namespace(kind, namespace).take(MOST_COMPARED + 1);
    let near = |other: &&ObjectSummary| !other.is_generated && is_slip(name, other.name());
    let near: HashSet<_> = others(*kind).filter(near).map(ObjectSummary::name).collect();
    let mut near = near.into_iter();
    let (Some(right), None) = (near.next(), near.next()) else { return };
    let uses = |set: &ObjectSummary| {
        let mut uses = set.details().into_iter().flat_map(|it| &it.configs);
        uses.any(|it| it.kind == *kind && &*it.name == right)
    };
    let is_used = query.has_other_pods()
        || SETS.iter().flat_map(|kind| others(*kind)).any(uses)
        || others(*kind).count() > MOST_COMPARED;
    if !is_used {
        let message = format!(
            "{} no {kind} {name}, but a {kind} {right} that nothing uses; without {name} no container starts",
            query.who_has()
        );
        let help = format!("write {right}");
        found.via(*kind, field.clone(), Reason::NotFound, message, help);
    }
}

/// Returns whether two names differ by a typo: in the separators, or in one letter of a longer part.
fn is_slip(a: &str, b: &str) -> bool {
    let is_separator = |c: char| matches!(c, '-' | '.' | '_');
    let letters = |name: &str| name.replace(is_separator, "").to_ascii_lowercase();
    let both = || a.split(is_separator).zip(b.split(is_separator)).filter(|(a, b)| a != b);
    let count = |name: &str| name.split(is_separator).count();
    let is_near = a.len().abs_diff(b.len()) <= 2;
    is_near && letters(a) == letters(b)
        || is_near
            && count(a) == count(b)
            && both().count() == 1
            && both().all(|(a, b)| a.len().max(b.len()) >= SHORTEST && differ_in_one(a, b))
}

/// Returns whether two words differ in one letter: changed, added, or swapped with its neighbor.
fn differ_in_one(a: &str, b: &str) -> bool {
    let start = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let [a, b] = [a, b].map(|it| it.as_bytes().get(start..).unwrap_or_default());
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let [a, b] = [a, b].map(|it| it.get(..it.len() - end).unwrap_or_default());
    let is_letter = |it: &[u8]| it.iter().all(u8::is_ascii_alphabetic);
    let is_one = match (a, b) {
        ([a, b], [c, d]) => a == d && b == c,
        _ => a.len() <= 1 && b.len() <= 1,
    };
    is_one && is_letter(a) && is_letter(b)
}

//! The metadata of the object itself.
//!
//! Kubernetes: `staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go`, with the
//! additions of `pkg/apis/core/validation/validation.go` for finalizers, and the changes of
//! `staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update}.go` before and after.

mod managed_fields;
mod owners;

use std::borrow::Borrow;

pub(crate) use self::{managed_fields::validate as managed_fields, owners::each_owner};
use super::prelude::*;
use crate::{
    finding::{SOME_RULE, paths::METADATA},
    kubernetes::{resource::WorkloadKind, semantic},
    object::{Metadata, Str},
};

pub(crate) const IMMUTABLE: &str = "field is immutable";
/// The API server generates a name from at most this many bytes of the prefix, and adds five (apiserver
/// `pkg/storage/names/generate.go`).
const GENERATED_PREFIX: usize = 58;
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", ORPHAN, FOREGROUND];
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
const CONTRADICT: &str = "finalizer orphan and foregroundDeletion cannot be both set";
const UNQUALIFIED: &str = "name is neither a standard finalizer name nor is it fully qualified";

/// `ValidateObjectMeta`
pub(crate) fn validate_create(
    kind: WorkloadKind,
    metadata: &Metadata<'_>,
    cluster: &Cluster,
    found: &mut Findings,
) {
    let path = &found.at(&METADATA);
    let check = match kind {
        WorkloadKind::DaemonSet => names::dns1123_subdomain,
        // `ValidateStatefulSetName`: each pod's hostname contains the name.
        WorkloadKind::StatefulSet => names::dns1123_label,
    };
    let name = metadata.name.as_deref().unwrap_or_default();
    let prefix = metadata.generate_name.as_deref().unwrap_or_default();
    generate_name(prefix, check, path);
    match (name, prefix) {
        ("", "") => path.child("name").required("name or generateName is required"),
        ("", prefix) => {
            let generated = generated_name(prefix);
            each(check(&generated), &generated, &path.child("name"));
        }
        (name, _) => each(check(name), name, &path.child("name")),
    }
    // Without a namespace, the request's applies.
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    if !namespace.is_empty() {
        label(namespace, &path.child("namespace"));
    }
    validate_common(metadata, path, cluster);
}

fn generate_name(prefix: &str, check: fn(&str) -> Vec<&'static str>, path: &At<'_>) {
    if !prefix.is_empty() {
        let path = path.child("generateName");
        each(check(&without_trailing_dash(prefix)), prefix, &path);
    }
}

/// `ValidateObjectMetaUpdate`. The name is not validated again by its kind's rule.
pub(crate) fn validate_update(
    kind: WorkloadKind,
    metadata: &Metadata<'_>,
    old: Option<&Metadata<'_>>,
    cluster: &Cluster,
    found: &mut Findings,
) {
    let path = &found.at(&METADATA);
    let prefix = metadata.generate_name.as_deref().unwrap_or_default();
    each(names::path_segment_prefix(prefix), prefix, &path.child("generateName"));
    if kind == WorkloadKind::DaemonSet && !cluster.has(since::DAEMON_SET_PREFIX_EASED) {
        generate_name(prefix, names::dns1123_subdomain, path);
    }
    validate_common(metadata, path, cluster);
    if let Some(old) = old {
        let [uid, old_uid] =
            [metadata, old].map(|it| it.uid.as_deref().filter(|uid| !uid.is_empty()));
        if let Some(uid) = uid.filter(|_| old_uid.is_some() && uid != old_uid) {
            path.child("uid").invalid(uid, IMMUTABLE);
        }
        deletion(metadata, old, path);
    }
}

/// A client can neither start nor prolong a deletion.
fn deletion(metadata: &Metadata<'_>, old: &Metadata<'_>, path: &At<'_>) {
    // The server removes these fields from new objects, so they do not count in an object that was never stored.
    let is_stored = old.uid.is_some();
    let old_timestamp = old.deletion_timestamp.as_ref().filter(|_| is_stored);
    let old_period = old.deletion_grace_period_seconds.filter(|_| is_stored);
    if old_timestamp.is_some() {
        no_new_finalizers(metadata, old, &path.child("finalizers"));
    } else if let Some(timestamp) = &metadata.deletion_timestamp {
        // If the old object has a timestamp, the server restores it.
        let path = path.child("deletionTimestamp");
        let timestamp = Some(&**timestamp).filter(|it| *it != semantic::ZERO_TIME);
        path.invalid(Value::json(&timestamp), IMMUTABLE);
    }
    let period = metadata.deletion_grace_period_seconds;
    if period.is_some() && period != old_period {
        path.child("deletionGracePeriodSeconds").invalid(Value::json(&period), IMMUTABLE);
    }
}

fn validate_common(metadata: &Metadata<'_>, path: &At<'_>, cluster: &Cluster) {
    labels::labels(metadata.labels.as_ref(), &path.child("labels"));
    labels::annotations(metadata.annotations.as_ref(), &path.child("annotations"));
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    owners::owner_references(owners, &path.child("ownerReferences"), cluster);
    let all = metadata.finalizers.as_deref().unwrap_or_default();
    finalizers(all, &path.child("finalizers"));
    // The server itself wrote the entries of a stored object, often half of the object.
    let json = metadata.managed_fields.json().filter(|_| metadata.uid.is_none());
    managed_fields(json.unwrap_or_default(), &path.child("managedFields"));
}

/// `ValidateFinalizers`, and `validateKubeFinalizerName` in `pkg/apis/core/validation`.
fn finalizers(all: &[Str<'_>], path: &At<'_>) {
    for finalizer in all {
        labels::label_key(finalizer, path);
    }
    if contradict(all) {
        path.invalid(Value::json(&all), CONTRADICT);
    }
    for (i, finalizer) in all.iter().enumerate().filter(|(_, name)| is_unqualified(name)) {
        path.index(i).invalid(&**finalizer, UNQUALIFIED);
    }
}

/// Like [`validate_create`], with one finding per fault.
pub(crate) fn each_finalizer(all: &[String], path: &At<'_>) {
    for (i, name) in all.iter().enumerate() {
        let unqualified = || is_unqualified(name).then_some(UNQUALIFIED);
        if let Some(fault) = names::label_key(name).into_iter().next().or_else(unqualified) {
            path.index(i).invalid(name, fault);
        }
    }
    if contradict(all) {
        path.forbidden(CONTRADICT);
    }
}

pub(crate) fn refuses_finalizers(all: &[String]) -> bool {
    let mut found = Findings::of(&SOME_RULE);
    each_finalizer(all, &found.at(&METADATA));
    !found.is_empty()
}

fn is_unqualified(finalizer: &str) -> bool {
    !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer)
}

fn contradict<T: Borrow<str>>(finalizers: &[T]) -> bool {
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer.borrow() == name);
    has(ORPHAN) && has(FOREGROUND)
}

/// `ValidateNoNewFinalizers`
fn no_new_finalizers(metadata: &Metadata<'_>, old: &Metadata<'_>, path: &At<'_>) {
    let of = |metadata: &Metadata<'_>| -> BTreeSet<String> {
        metadata.finalizers.iter().flatten().map(|finalizer| finalizer.to_string()).collect()
    };
    let extra: Vec<_> = of(metadata)
        .difference(&of(old))
        .map(|finalizer| Value::Str(finalizer).to_string())
        .collect();
    if !extra.is_empty() {
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, \
             found new finalizers []string{{{}}}",
            extra.join(", ")
        );
        path.forbidden(detail);
    }
}

/// A dash at the end of a prefix is valid, because a suffix follows it: `maskTrailingDash`.
pub(crate) fn without_trailing_dash(prefix: &str) -> String {
    match prefix.len().checked_sub(2).and_then(|end| prefix.get(..end)) {
        Some(start) if prefix.ends_with('-') => format!("{start}a"),
        _ => prefix.to_owned(),
    }
}

fn generated_name(prefix: &str) -> String {
    let end = prefix.floor_char_boundary(GENERATED_PREFIX);
    format!("{}xxxxx", &prefix[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: &str) -> Metadata<'_> {
        serde_json::from_str(json).unwrap()
    }
    fn updated(json: &str, old: &str) -> Vec<String> {
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        let (new, old, cluster) = (parsed(json), parsed(old), Cluster::default());
        validate_update(WorkloadKind::DaemonSet, &new, Some(&old), &cluster, &mut found);
        found.into_vec().iter().map(|f| format!("{}: {}", f.field, f.message)).collect()
    }

    #[test]
    fn identical_owners_keep_the_index_of_the_first() {
        let owner =
            r#"{"apiVersion": "v1", "kind": "", "name": "a", "uid": "1", "controller": true}"#;
        let other = owner.replace(r#""name": "a""#, r#""name": "b""#);
        let list = format!(r#"{{"ownerReferences": [{owner}, {owner}, {other}]}}"#);
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        let list = parsed(&list).owner_references.unwrap();
        each_owner(&list, &found.at(&METADATA.child("ownerReferences")));
        let places: Vec<_> = found.into_vec().iter().map(|f| f.field.to_string()).collect();
        let expected = ["[0].kind", "[2].kind", "[2].controller"];
        assert_eq!(places, expected.map(|end| format!("metadata.ownerReferences{end}")));
    }

    #[test]
    fn an_object_on_its_way_out_gets_no_new_finalizer() {
        let old =
            r#"{"uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}"#;
        assert!(updated(r#"{"finalizers": []}"#, old).is_empty());
        assert_eq!(
            updated(r#"{"finalizers": ["a/b", "c/d"]}"#, old),
            ["metadata.finalizers: Forbidden: no new finalizers can be added if the object is \
              being deleted, found new finalizers []string{\"c/d\"}"]
        );
        assert!(updated(r#"{"name": "Any_Name"}"#, old).is_empty(), "the name is settled");
    }

    #[test]
    fn only_the_server_gives_an_object_its_uid() {
        let (one, other) = (r#"{"uid": "1"}"#, r#"{"uid": "2"}"#);
        let refused = ["metadata.uid: Invalid value: \"1\": field is immutable"];
        for (new, old, expected) in
            [(one, other, &refused[..]), (one, one, &[]), ("{}", other, &[]), (one, "{}", &[])]
        {
            assert_eq!(updated(new, old), expected, "{new} {old}");
        }
    }

    #[test]
    fn only_the_server_starts_a_deletion() {
        let deleted = r#"{"deletionTimestamp": "2026-01-01T00:00:00Z"}"#;
        assert_eq!(
            updated(deleted, "{}"),
            [
                "metadata.deletionTimestamp: Invalid value: \"2026-01-01T00:00:00Z\": field is immutable"
            ]
        );
        let zero = updated(r#"{"deletionTimestamp": "0001-01-01T00:00:00Z"}"#, "{}");
        assert_eq!(zero, ["metadata.deletionTimestamp: Invalid value: null: field is immutable"]);
        assert_eq!(updated(deleted, deleted).len(), 1, "one that was never stored had none");
        assert_eq!(updated(r#"{"deletionGracePeriodSeconds": 5}"#, "{}").len(), 1);
    }
}

//! Owner references. Kubernetes: apimachinery `pkg/api/validation/objectmeta.go`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::json;

use crate::validation::prelude::*;

const EVENT: &str = "/v1, Kind=Event is disallowed from being an owner";

/// `ValidateOwnerReferences`. Before 1.37, field paths have no index.
pub(super) fn owner_references(owners: &[OwnerReference], path: &At<'_>, cluster: &Cluster) {
    let indexed = cluster.has(since::OWNERS_INDEXED);
    let mut first_controller: Option<&OwnerReference> = None;
    let stored = || distinct(owners).map(|(_, owner)| owner);
    for (owner, place) in path.items(stored()) {
        let place = if indexed { &place } else { path };
        each_missing(owner, place, indexed);
        if is_event(owner) {
            place.invalid(Value::json(&in_go_field_order(owner)), EVENT);
        }
        if owner.controller == Some(true) {
            if let Some(first) = first_controller {
                // Each message repeats all owners, so they are serialized only if the message will be kept.
                let all = path.has_room().then(|| stored().map(in_go_field_order).collect());
                let all: Vec<_> = all.unwrap_or_default();
                path.invalid(Value::json(&all), two_controllers(first, owner));
            } else {
                first_controller = Some(owner);
            }
        }
    }
}

/// Like [`validate_create`], with the index of each owner.
pub(crate) fn each_owner(owners: &[OwnerReference], path: &At<'_>) {
    let mut controllers = owners.iter().filter(|owner| owner.controller == Some(true));
    let first_controller = controllers.next();
    for (i, owner) in distinct(owners) {
        let path = path.index(i);
        each_missing(owner, &path, false);
        if is_event(owner) {
            path.forbidden(EVENT);
        }
        if let Some(first) = first_controller.filter(|first| !std::ptr::eq(*first, owner))
            && owner.controller == Some(true)
        {
            path.child("controller").forbidden(two_controllers(first, owner));
        }
    }
}

/// With their indexes. The API server removes duplicates before validation (`dedupOwnerReferences`, apiserver
/// `pkg/endpoints/handlers/rest.go`).
fn distinct(owners: &[OwnerReference]) -> impl Iterator<Item = (usize, &OwnerReference)> {
    let mut seen = HashSet::new();
    owners.iter().enumerate().filter(move |(_, owner)| {
        let OwnerReference { api_version, kind, name, uid, controller, block_owner_deletion } =
            owner;
        seen.insert((uid, name, kind, api_version, controller, block_owner_deletion))
    })
}

/// Follows `validateOwnerReference`. Its messages changed in 1.37.
fn each_missing(owner: &OwnerReference, path: &At<'_>, rewritten: bool) {
    for (name, value, detail) in missing(owner) {
        let path = path.child(name);
        if !rewritten {
            path.invalid(value, detail);
        } else if value.is_empty() {
            path.required("must not be empty");
        } else {
            path.invalid(value, "must be <group>/<version> or <version>");
        }
    }
}

/// The empty required fields, with the API server's messages.
fn missing(owner: &OwnerReference) -> impl Iterator<Item = (&'static str, &str, &'static str)> {
    let (_, version) = group_version(&owner.api_version);
    let of_version = ("apiVersion", owner.api_version.as_str(), "version must not be empty");
    let others = [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)];
    let others = others.into_iter().filter(|(_, value)| value.is_empty());
    let others = others.map(|(name, value)| (name, value.as_str(), "must not be empty"));
    version.is_empty().then_some(of_version).into_iter().chain(others)
}

fn is_event(owner: &OwnerReference) -> bool {
    owner.kind == "Event" && group_version(&owner.api_version) == ("", "v1")
}

fn two_controllers(first: &OwnerReference, second: &OwnerReference) -> String {
    format!(
        "Only one reference can have Controller set to true. \
         Found \"true\" in references for {}/{} and {}/{}",
        first.kind, first.name, second.kind, second.name
    )
}

/// Both are empty if the `apiVersion` is malformed (`schema.ParseGroupVersion`).
fn group_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        None => ("", api_version),
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(both) => both,
    }
}

/// The fields are in Go's order.
fn in_go_field_order(owner: &OwnerReference) -> serde_json::Value {
    let mut value = json!({
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    });
    if let Some(controller) = owner.controller {
        value["controller"] = controller.into();
    }
    if let Some(block) = owner.block_owner_deletion {
        value["blockOwnerDeletion"] = block.into();
    }
    value
}

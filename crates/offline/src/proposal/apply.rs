//! The result of applying a manifest over an old object.
//!
//! `kubectl apply` does not replace an object. It removes an omitted field only if the field was applied before; other
//! fields keep their values, including defaults of the API server. The previously applied fields are in the annotation
//! of `kubectl apply` or, for server-side apply, in the managed fields. An old object that is a manifest counts as
//! fully applied.

mod fields;
mod lists;
mod merge;
pub(super) mod refused;
mod verb;

pub(crate) use self::verb::LAST_APPLIED;
pub use self::verb::{Delivery, Verb};
use setguard_core::object::schema;

use self::{fields::Owned, lists::Lists, merge::Merger, verb::Writer};

use crate::prelude::*;

/// Returns the objects that the API server receives, in order, when `manifest` is applied over an old object. `given`
/// is the old object as read, `stored` the same object after the webhook's injection.
///
/// There are two objects if server-side apply takes over from client-side apply: kubectl applies the manifest, takes
/// ownership of the client-side fields, and applies the manifest again.
///
/// Values from the old object get the position of the nearest mapping in the manifest. If the old object is
/// unreadable, the result is the manifest.
pub fn outcomes<'a>(
    delivery: &Delivery,
    manifest: &Node<'a>,
    resource: &'static Resource,
    given: &str,
    stored: &str,
) -> Vec<Node<'a>> {
    let (Ok(given), Some(stored)) = (serde_json::from_str(given), with_defaults(resource, stored))
    else {
        return vec![manifest.clone()];
    };
    merged(&delivery.writer(&given), manifest, resource, (&given, &stored))
}

/// Returns how the merge decides about old fields that `manifest` omits.
pub(super) fn removals(
    delivery: &Delivery,
    manifest: &Node<'_>,
    resource: &'static Resource,
    given: &str,
    stored: &str,
) -> Removals {
    let (Ok(given), Some(stored)) =
        (serde_json::from_str::<Value>(given), with_defaults(resource, stored))
    else {
        return Removals::Known;
    };
    let spec = |writer: &Writer<'_>| {
        let object = merged(writer, manifest, resource, (&given, &stored)).pop()?;
        let json = schema::read(&object, resource).json(&object);
        if resource.is_kruise() {
            return with_defaults(resource, &json).map(|mut object| object["spec"].take());
        }
        let [_, meaning] = Object::parse(resource, &json).ok()?.spec_with_meaning();
        Some(meaning)
    };
    let writer = delivery.writer(&given);
    if writer.verb != Verb::Replace && is_of_unknown_origin(&given) {
        let all = Writer { takes_all: true, ..writer };
        return match (spec(&writer), spec(&all)) {
            (Some(kept), Some(removed)) if kept != removed => {
                Removals::Unknown(Box::new([kept, removed]))
            }
            _ => Removals::Known,
        };
    }
    match writer.is_inferred && spec(&writer) != spec(&Writer::default()) {
        true => Removals::Inferred(writer.name()),
        false => Removals::Known,
    }
}

/// Returns whether a cluster object lacks all information about the origin of its fields.
fn is_of_unknown_origin(object: &Value) -> bool {
    let metadata = &object["metadata"];
    metadata["uid"].is_string()
        && !metadata["annotations"][LAST_APPLIED].is_string()
        && !metadata["managedFields"].is_array()
}

/// How the merge decides about omitted fields.
#[derive(Debug)]
pub(crate) enum Removals {
    /// From a flag, or without a difference between the commands.
    Known,
    /// From the old object's managed fields. `kubectl apply` would keep fields that this command removes.
    Inferred(String),
    /// Undecidable from the old object: its spec if fields stay, and if they are removed.
    Unknown(Box<[Value; 2]>),
}

fn merged<'a>(
    writer: &Writer<'_>,
    manifest: &Node<'a>,
    resource: &'static Resource,
    (given, stored): (&Value, &Value),
) -> Vec<Node<'a>> {
    let verb = writer.verb;
    let lists = match verb {
        Verb::Replace => return vec![manifest.clone()],
        // Apply replaces the lists of custom resources as a whole.
        _ if resource.is_kruise() => Lists::Whole,
        Verb::Apply => Lists::ClientSide,
        Verb::ServerSideApply => Lists::ServerSide,
    };
    let merger = Merger { lists, null_removes: verb == Verb::Apply };
    let steps = Owned::before(writer, given, lists).into_iter();
    steps.map(|owned| merger.object(manifest, stored, &owned)).collect()
}

/// Returns an object as the API server stores it, without its managed fields.
fn with_defaults(resource: &'static Resource, json: &str) -> Option<Value> {
    let mut stored: Value = serde_json::from_str(json).ok()?;
    // The API server sets no defaults in a custom resource.
    if !resource.is_kruise() {
        let is_of_cluster = stored["metadata"]["uid"].is_string();
        let leaves_out = !is_of_cluster && stored["spec"]["replicas"].is_null();
        let mut spec = Object::parse(resource, json).ok()?.spec()?;
        if leaves_out && let Some(spec) = spec.as_object_mut() {
            // Nobody knows how many an autoscaler has set.
            spec.remove("replicas");
        }
        stored.as_object_mut()?.insert("spec".to_owned(), spec);
    }
    if let Some(metadata) = stored.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Some(stored)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(verb: Verb, new: &Value, old: &Value) -> Value {
        let object = |ports: &Value| {
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"template": {"spec": {
                "containers": [{"name": "a", "ports": ports}]}}}})
            .to_string()
        };
        let (new, old) = (object(new), object(old));
        let manifest = kube_yaml::parse(&new).remove(0).unwrap().root;
        let resource = Resource::of("apps/v1", "DaemonSet").unwrap();
        let delivery = Delivery::by(verb);
        let outcome = outcomes(&delivery, &manifest, resource, &old, &old).remove(0);
        let outcome: Value = serde_json::from_str(&outcome.to_json()).unwrap();
        outcome["spec"]["template"]["spec"]["containers"][0]["ports"].clone()
    }

    #[test]
    fn items_with_one_key_are_not_mixed_up() {
        let both = json!([
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"containerPort": 53, "protocol": "TCP"},
        ]);
        for verb in [Verb::Apply, Verb::ServerSideApply] {
            assert_eq!(applied(verb, &both, &both), both);
        }
    }

    #[test]
    fn a_port_has_other_keys_on_the_server() {
        let (new, old) =
            (json!([{"containerPort": 53, "protocol": "UDP"}]), json!([{"containerPort": 53}]));
        assert_eq!(applied(Verb::Apply, &new, &old), new);
        assert_eq!(applied(Verb::ServerSideApply, &new, &old), new);
    }

    /// Helm 3 merges like client-side apply: when a chart drops a list, items from others disappear with it, and so do
    /// keys in a mapping that one manager owns.
    #[test]
    fn helm_3_removes_what_a_chart_no_longer_has() {
        let object = |metadata: Value, spec: Value| {
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
                "spec": {"template": {"spec": spec}}})
            .to_string()
        };
        let fields = json!({
            "f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}},
            "f:spec": {"f:template": {"f:spec": {"f:nodeSelector": {}, "f:containers": {
                "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:env":
                    {".": {}, "k:{\"name\":\"OWN\"}": {".": {}, "f:name": {}, "f:value": {}}}}}}}},
        });
        let helm = json!({"manager": "helm", "operation": "Update", "fieldsV1": fields});
        let old = object(
            json!({"uid": "u", "managedFields": [helm]}),
            json!({"nodeSelector": {"disk": "ssd", "zone": "a"}, "containers": [{"name": "a",
                "env": [{"name": "OWN", "value": "1"}, {"name": "MEDDLED", "value": "1"}]}]}),
        );
        let new = object(
            json!({}),
            json!({"nodeSelector": {"zone": "a"}, "containers": [{"name": "a"}]}),
        );
        let manifest = kube_yaml::parse(&new).remove(0).unwrap().root;
        let resource = Resource::of("apps/v1", "DaemonSet").unwrap();
        let pod = |delivery: &Delivery| {
            let outcome = outcomes(delivery, &manifest, resource, &old, &old).remove(0);
            let outcome: Value = serde_json::from_str(&outcome.to_json()).unwrap();
            let spec = &outcome["spec"]["template"]["spec"];
            (spec["nodeSelector"].clone(), spec["containers"][0]["env"].clone())
        };
        assert_eq!(pod(&Delivery::default()), (json!({"zone": "a"}), Value::Null));
        let apply = Delivery::by(Verb::Apply);
        assert_eq!(pod(&apply).0, json!({"zone": "a", "disk": "ssd"}));
    }
}

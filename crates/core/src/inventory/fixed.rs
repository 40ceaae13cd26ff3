//! Fields of the objects around a set that the API server does not let change.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use serde_json::Value;

use super::configs::{ARGO_HOOK, HELM_HOOK, SYNC_OPTIONS};
use crate::inventory::prelude::*;
use crate::kubernetes::quantity::Quantity;

/// The fields, each with a hash of its value: the values of Secrets are never kept.
pub(crate) type Fixed = Box<[(&'static str, u64)]>;

/// The kind, namespace and name of a StatefulSet's or DaemonSet's neighbor.
pub type Id = (Kind, Box<str>, Box<str>);

/// The objects whose change the API server refuses, each with the first such field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refusals(Arc<BTreeMap<Id, Option<&'static str>>>);

/// The value of `clusterIP` that the API server chooses. An update without the field keeps the old one.
const CHOSEN: u64 = 0;

/// With these, a tool deletes the object and creates it again, or deletes it first.
const REPLACED_BY: [(&str, &str); 5] = [
    (ARGO_HOOK, ""),
    (SYNC_OPTIONS, "Force=true"),
    (SYNC_OPTIONS, "Replace=true"),
    (HELM_HOOK, ""),
    ("kustomize.toolkit.fluxcd.io/force", "enabled"),
];

/// The fields of a kind, each with its default.
///
/// Kubernetes: `ValidateStorageClassUpdate`, `ValidateRoleBindingUpdate`, `ValidatePriorityClassUpdate`,
/// `ValidateSecretUpdate`, `ValidateConfigMapUpdate`, `ValidatePersistentVolumeClaimUpdate`, validation.go of each API group.
const fn fields(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::ClusterRoleBinding | Kind::RoleBinding => {
            &[("roleRef.kind", ""), ("roleRef.name", "")]
        }
        Kind::PriorityClass => &[("value", "0"), ("preemptionPolicy", "PreemptLowerPriority")],
        Kind::Secret => &[("type", "Opaque")],
        Kind::StorageClass => &[
            ("provisioner", ""),
            ("parameters", ""),
            ("reclaimPolicy", "Delete"),
            ("volumeBindingMode", "Immediate"),
        ],
        Kind::PersistentVolumeClaim => &[
            ("spec.accessModes", ""),
            ("spec.dataSource", ""),
            ("spec.dataSourceRef", ""),
            ("spec.selector", ""),
            ("spec.storageClassName", ""),
            ("spec.volumeMode", "Filesystem"),
            (SIZE, ""),
        ],
        _ => &[],
    }
}

/// The size of a claim, in thousandths of a byte. It only grows.
const SIZE: &str = "spec.resources.requests.storage";

/// Returns whether objects of a kind can have such fields.
pub(super) const fn may_have(kind: Kind) -> bool {
    matches!(kind, Kind::ConfigMap | Kind::Service) || !fields(kind).is_empty()
}

/// Reads the fields of an object; `None` if it has none, or is replaced instead of changed.
pub(super) fn read(kind: Kind, json: &str) -> Option<Box<Fixed>> {
    if !may_have(kind) {
        return None;
    }
    let object: Value = serde_json::from_str(json).ok()?;
    let annotations = &object["metadata"]["annotations"];
    let is_replaced =
        |(key, value): (&str, &str)| annotations[key].as_str().is_some_and(|it| it.contains(value));
    if REPLACED_BY.into_iter().any(is_replaced) {
        return None;
    }
    let at = |path: &str| path.split('.').fold(&object, |value, key| &value[key]);
    let with_default = |(path, default): &(&'static str, &'static str)| {
        let text = written(at(path));
        let value = match (kind, &*text) {
            (_, text) if *path == SIZE => {
                u64::try_from(Quantity::parse_resource(text)?.thousandths()?).ok()?
            }
            // The API server fills in the class, and more.
            (Kind::PersistentVolumeClaim, "") if default.is_empty() => return None,
            (_, "") => hash(default),
            (_, text) => hash(text),
        };
        Some((*path, value))
    };
    let mut all: Vec<_> = fields(kind).iter().filter_map(with_default).collect();
    if matches!(kind, Kind::ConfigMap | Kind::Secret) && object["immutable"] == true {
        // A manifest may have the same data in base64.
        let name = if object["stringData"].is_null() { "data" } else { "stringData" };
        let data = ["data", "stringData", "binaryData"].map(|it| written(&object[it]));
        all.extend([("immutable", 1), (name, hash(&data.concat()))]);
    }
    let spec = &object["spec"];
    if kind == Kind::Service && spec["type"] != "ExternalName" {
        let value = match spec["clusterIP"].as_str().unwrap_or_default() {
            "None" => hash("None"),
            "" if matches!(spec["type"].as_str(), None | Some("" | "ClusterIP")) => CHOSEN,
            _ => hash(""),
        };
        all.push(("spec.clusterIP", value));
    }
    Some(Box::new(all.into()))
}

/// The entries of a map have no order.
fn written(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(map) => map
            .iter()
            .collect::<BTreeMap<_, _>>()
            .iter()
            .fold(String::new(), |all, (key, value)| format!("{all}{key:?}: {value}, ")),
        value => value.to_string(),
    }
}

fn hash(text: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(text).max(CHOSEN + 1)
}

/// Returns the first field that the API server does not let change.
fn refused(old: &Fixed, new: &Fixed) -> Option<&'static str> {
    let changed = |(field, old): &&(&'static str, u64)| {
        let old = if *old == CHOSEN { hash("") } else { *old };
        match new.iter().find(|it| it.0 == *field) {
            Some((_, new)) if *field == SIZE => *new < old,
            Some((_, new)) => *new != CHOSEN && *new != old,
            None => *field == "immutable",
        }
    };
    old.iter().find(changed).map(|it| it.0)
}

impl Refusals {
    /// Compares the objects before and after a change. Skips objects that share a name, because nobody knows which is
    /// which.
    pub fn between<'a>(old: &Inventory, new: impl Iterator<Item = &'a ObjectSummary>) -> Self {
        let mut all = BTreeMap::new();
        for item in new {
            let Some(fixed) = item.fixed.as_deref() else { continue };
            let mut before = old.named(item.kind, &item.namespace, &item.name);
            let (Some(before), None) = (before.next(), before.next()) else { continue };
            let field = before.fixed.as_deref().and_then(|before| refused(before, fixed));
            let id = (item.kind, Box::from(&*item.namespace), item.name.clone());
            all.entry(id).and_modify(|it| *it = None).or_insert(field);
        }
        all.retain(|_, it| it.is_some());
        Refusals(all.into())
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an object of this inventory with the reason why its change is refused.
    pub(crate) fn of<'a>(
        &self,
        inventory: &'a Inventory,
        (kind, namespace, name): (Kind, &'a str, &'a str),
    ) -> Option<(&'a ObjectSummary, String)> {
        let field = (*self.0.get(&(kind, namespace.into(), name.into()))?)?;
        let is_data = matches!(kind, Kind::ConfigMap | Kind::Secret) && field != "type";
        let why = match field {
            _ if is_data => "it is immutable".to_owned(),
            SIZE => format!("{field} cannot become smaller"),
            _ => format!("{field} cannot be changed"),
        };
        Some((inventory.named(kind, namespace, name).next()?, why))
    }

    /// Returns the objects of this inventory with a kind, and in a namespace if it is given, each with the reason.
    pub(crate) fn all<'a>(
        &'a self,
        inventory: &'a Inventory,
        kind: Kind,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a ObjectSummary, String)> {
        let first = (kind, namespace.unwrap_or_default().into(), Box::default());
        let ids = self.0.range(first..).map(|it| it.0);
        ids.take_while(move |it| it.0 == kind && namespace.is_none_or(|own| *it.1 == *own))
            .filter_map(|it| self.of(inventory, (it.0, &it.1, &it.2)))
    }
}

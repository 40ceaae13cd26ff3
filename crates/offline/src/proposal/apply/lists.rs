//! How apply merges lists and mappings, by field name.
//!
//! Kubernetes publishes these rules in its API: `x-kubernetes-patch-merge-key` and `x-kubernetes-patch-strategy` for
//! client-side apply, `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type` for
//! server-side apply. In the parts of DaemonSets and StatefulSets that a merge can reach, each field name has only one
//! meaning; below a list that is replaced as a whole, only `values` has a different one ([`Lists::list_in`]).

use serde_json::{Map, Value};

/// The lists to merge item by item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lists {
    ClientSide,
    ServerSide,
    Whole,
}

/// How to identify the items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Items have no identity: the merge replaces the whole list.
    Whole,
    Values,
    Keys(&'static [&'static str]),
}

/// The mappings that server-side apply replaces as a whole.
const ATOMIC: &str = "configMapKeyRef dataSource fieldRef fileKeyRef labelSelector namespaceSelector \
                      nodePublishSecretRef nodeSelector preference requiredDuringSchedulingIgnoredDuringExecution \
                      resourceFieldRef secretKeyRef secretRef selector";

impl Lists {
    pub(super) fn list(self, name: &str) -> List {
        match (self, name) {
            (Lists::Whole, _) => List::Whole,
            (_, "finalizers") => List::Values,
            (
                _,
                "containers"
                | "env"
                | "ephemeralContainers"
                | "evictionResponders"
                | "imagePullSecrets"
                | "initContainers"
                | "resourceClaims"
                | "schedulingGates"
                | "volumes",
            )
            | (Lists::ServerSide, "claims") => List::Keys(&["name"]),
            (Lists::ServerSide, "bindMountOptions") => List::Values,
            (_, "conditions") => List::Keys(&["type"]),
            (_, "hostAliases") => List::Keys(&["ip"]),
            (_, "ownerReferences") => List::Keys(&["uid"]),
            (_, "volumeDevices") => List::Keys(&["devicePath"]),
            (_, "volumeMounts") => List::Keys(&["mountPath"]),
            (Lists::ClientSide, "ports") => List::Keys(&["containerPort"]),
            (Lists::ServerSide, "ports") => List::Keys(&["containerPort", "protocol"]),
            (Lists::ClientSide, "topologySpreadConstraints") => List::Keys(&["topologyKey"]),
            (Lists::ServerSide, "topologySpreadConstraints") => {
                List::Keys(&["topologyKey", "whenUnsatisfiable"])
            }
            _ => List::Whole,
        }
    }

    /// Like [`Lists::list`], also for lists that a merge cannot reach.
    pub(super) fn list_in(self, parent: &str, name: &str) -> List {
        match (parent, name) {
            ("exitCodes", "values") => List::Values,
            _ => self.list(name),
        }
    }

    /// Returns whether the merge replaces the whole mapping.
    pub(super) fn is_atomic(self, name: &str) -> bool {
        self == Lists::ServerSide && ATOMIC.split(' ').any(|it| it == name)
    }

    /// Returns whether an item of this list keeps only the fields in the manifest (`retainKeys`).
    pub(super) fn keeps_only_written(self, list: &str) -> bool {
        self == Lists::ClientSide && matches!(list, "volumes" | "resourceClaims")
    }
}

impl List {
    /// Returns the key of an item in the notation of managed fields: `k:{"name":"a"}`, `v:"a"`. `None` if the item
    /// lacks a key, or if the merge replaces the whole list.
    pub(super) fn key(self, item: &Value) -> Option<String> {
        match self {
            List::Whole => None,
            List::Values => Some(format!("v:{item}")),
            List::Keys(names) => {
                let keys = names.iter().map(|name| match item.get(*name) {
                    // A null is a value of its own.
                    None if *name == "protocol" => Some(((*name).to_owned(), Value::from("TCP"))),
                    value => Some(((*name).to_owned(), value?.clone())),
                });
                Some(format!("k:{}", Value::Object(keys.collect::<Option<Map<_, _>>>()?)))
            }
        }
    }
}

//! How lists and mappings are merged, by the names of their fields.
//!
//! Kubernetes publishes it in its API: `x-kubernetes-patch-merge-key` and
//! `x-kubernetes-patch-strategy` for client-side apply, `x-kubernetes-list-type`,
//! `x-kubernetes-list-map-keys` and `x-kubernetes-map-type` for server-side apply. In DaemonSets and
//! StatefulSets no field name has two meanings, wherever a merge can get.

use serde_json::{Map, Value};

/// Which lists are merged item by item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lists {
    /// As client-side apply does.
    ClientSide,
    /// As server-side apply does.
    ServerSide,
    /// None of them.
    Whole,
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// They are not: the list is replaced as a whole.
    Whole,
    /// By their values.
    Values,
    /// By these fields.
    Keys(&'static [&'static str]),
}

impl Lists {
    /// How a list is merged.
    pub(super) fn list(self, name: &str) -> List {
        match (self, name) {
            (Lists::Whole, _) => List::Whole,
            (_, "finalizers") => List::Values,
            (
                _,
                "containers"
                | "env"
                | "ephemeralContainers"
                | "imagePullSecrets"
                | "initContainers"
                | "resourceClaims"
                | "schedulingGates"
                | "volumes",
            )
            | (Lists::ServerSide, "claims") => List::Keys(&["name"]),
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

    /// Whether a mapping is replaced as a whole.
    pub(super) fn is_atomic(self, name: &str) -> bool {
        self == Lists::ServerSide
            && matches!(
                name,
                "configMapKeyRef"
                    | "dataSource"
                    | "fieldRef"
                    | "fileKeyRef"
                    | "labelSelector"
                    | "namespaceSelector"
                    | "nodePublishSecretRef"
                    | "nodeSelector"
                    | "preference"
                    | "requiredDuringSchedulingIgnoredDuringExecution"
                    | "resourceFieldRef"
                    | "secretKeyRef"
                    | "secretRef"
                    | "selector"
            )
    }

    /// Whether an item of this list keeps only the fields that the manifest writes (`retainKeys`).
    pub(super) fn keeps_only_written(self, list: &str) -> bool {
        self == Lists::ClientSide && matches!(list, "volumes" | "resourceClaims")
    }
}

impl List {
    /// What identifies an item, in the form of managed fields: `k:{"name":"a"}`, `v:"a"`. `None` if
    /// it lacks a key, and in a list that is replaced as a whole.
    pub(super) fn key(self, item: &Value) -> Option<String> {
        match self {
            List::Whole => None,
            List::Values => Some(format!("v:{item}")),
            List::Keys(names) => {
                let keys = names.iter().map(|name| match item.get(*name) {
                    Some(Value::Null) | None if *name == "protocol" => {
                        Some(((*name).to_owned(), Value::from("TCP")))
                    }
                    value => Some(((*name).to_owned(), value?.clone())),
                });
                Some(format!("k:{}", Value::Object(keys.collect::<Option<Map<_, _>>>()?)))
            }
        }
    }
}

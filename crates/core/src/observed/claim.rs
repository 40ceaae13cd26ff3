use k8s_openapi::{
    api::core::v1::{
        NodeSelector, ObjectReference, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
        PersistentVolumeStatus, VolumeNodeAffinity,
    },
    apimachinery::pkg::api::resource::Quantity,
};

use crate::kubernetes::quantity;
use crate::observed::prelude::*;

/// `PersistentVolumeSpec` without the sources: they would make the page much larger.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VolumeSpec {
    node_affinity: Option<VolumeNodeAffinity>,
    storage_class_name: Option<String>,
    capacity: Option<BTreeMap<String, Quantity>>,
    access_modes: Option<Vec<String>>,
    claim_ref: Option<ObjectReference>,
    persistent_volume_reclaim_policy: Option<String>,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug)]
pub struct PersistentVolumeClaim {
    /// `Pending`, `Bound` or `Lost`.
    pub phase: Box<str>,
    /// The time of creation, in seconds since 1970.
    pub created: i64,
    /// When the deletion of the claim was requested.
    pub deleted: Option<i64>,
    /// The requested amount of storage.
    pub request: Option<Quantity>,
    /// Whether the volume is smaller than the request: a resize is pending or failed.
    pub(crate) is_being_resized: bool,
    /// Whether the driver cannot make the volume as large as requested.
    pub(crate) is_resize_infeasible: bool,
    /// The storage class. `None` if the claim names none, `""` if it requests a volume without a class.
    pub class: Option<Box<str>>,
    /// The volume that the claim is bound to or requests.
    pub volume: Option<Box<str>>,
    pub(crate) modes: Vec<String>,
    /// Whether the scheduler has chosen the node where the provisioner makes the volume.
    pub(crate) has_node: bool,
    /// The names and uids of the pods that own the claim. It is deleted with them.
    pub owner_pods: Box<[(Box<str>, Box<str>)]>,
    /// The names of the StatefulSets that own the claim. It is deleted with them.
    pub owner_sets: Box<[Box<str>]>,
}

/// A PersistentVolume.
#[derive(Clone, Debug)]
pub struct PersistentVolume {
    /// The nodes that can use the volume; `None` if all.
    pub nodes: Option<NodeSelector>,
    /// Empty for none.
    pub(crate) class: Box<str>,
    pub(crate) capacity: Option<Quantity>,
    pub(crate) modes: Vec<String>,
    pub(crate) claim: Option<Name>,
    pub(crate) is_released: bool,
    /// Whether the volume is retained when its claim is deleted.
    pub is_retained: bool,
}

const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

impl PersistentVolumeClaim {
    /// Reads a claim, and its namespace and name. Fails if the JSON is not a claim.
    pub fn read(json: &str) -> serde_json::Result<(Name, Self)> {
        let Whole::<Metadata, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus> {
            metadata,
            spec,
            status,
        } = serde_json::from_str(json)?;
        let requests = spec.resources.and_then(|it| it.requests);
        let request = requests.and_then(|mut it| it.remove("storage"));
        let capacity = status.capacity.as_ref().and_then(|it| it.get("storage"));
        let resize = status.allocated_resource_statuses.as_ref().and_then(|it| it.get("storage"));
        let phase = status.phase.as_deref().unwrap_or("Pending");
        let claim = PersistentVolumeClaim {
            phase: phase.into(),
            modes: spec.access_modes.unwrap_or_default(),
            has_node: phase == "Pending" && metadata.annotation(SELECTED_NODE).is_some(),
            created: metadata.created(),
            deleted: metadata.deleted(),
            is_being_resized: is_smaller(capacity, request.as_ref()),
            // `ControllerResizeInfeasible` or `NodeResizeInfeasible`.
            is_resize_infeasible: resize.is_some_and(|it| it.ends_with("ResizeInfeasible")),
            request,
            class: spec.storage_class_name.map(Into::into),
            volume: spec.volume_name.filter(|it| !it.is_empty()).map(Into::into),
            owner_pods: metadata
                .owners("v1", "Pod")
                .map(|(name, uid)| (name.into(), uid.into()))
                .collect(),
            owner_sets: metadata
                .owners("apps/v1", "StatefulSet")
                .map(|(name, _)| name.into())
                .collect(),
        };
        Ok(((metadata.namespace().into(), metadata.name().into()), claim))
    }

    /// Returns true if either size is unknown.
    pub(crate) fn has_room_in(&self, volume: &PersistentVolume) -> bool {
        !is_smaller(volume.capacity.as_ref(), self.request.as_ref())
    }
}

/// Returns false if either quantity is unknown.
fn is_smaller(one: Option<&Quantity>, other: Option<&Quantity>) -> bool {
    let one = one.and_then(|it| quantity::Quantity::parse_resource(&it.0));
    let other = other.and_then(|it| quantity::Quantity::parse_resource(&it.0));
    one.zip(other).is_some_and(|(one, other)| one.cmp(&other).is_lt())
}

impl PersistentVolume {
    /// Reads a volume and its name. Fails if the JSON is not a volume.
    pub fn read(json: &str) -> serde_json::Result<(Box<str>, Self)> {
        let Whole::<Metadata, VolumeSpec, PersistentVolumeStatus> { metadata, spec, status } =
            serde_json::from_str(json)?;
        let volume = PersistentVolume {
            nodes: spec.node_affinity.and_then(|it| it.required),
            class: spec.storage_class_name.unwrap_or_default().into(),
            capacity: spec.capacity.and_then(|mut it| it.remove("storage")),
            modes: spec.access_modes.unwrap_or_default(),
            claim: spec
                .claim_ref
                .map(|it| [it.namespace, it.name].map(|it| it.unwrap_or_default().into()).into()),
            is_released: status.phase.as_deref() == Some("Released"),
            is_retained: spec.persistent_volume_reclaim_policy.as_deref() == Some("Retain"),
        };
        Ok((metadata.name().into(), volume))
    }
}

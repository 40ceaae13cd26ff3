//! The pods, claims, revisions and nodes that a cluster has.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    kubernetes::{resource::WorkloadKind, semantic},
    object::{defaults, namespace_or_default},
    observed::{Claim, Node, Owner, Pod, Revision},
    rollout::node::Node as Place,
};

/// Namespace and name.
type Name = (Box<str>, Box<str>);

/// The objects of a cluster other than the sets.
#[derive(Debug, Default)]
pub(super) struct World {
    /// The pods by their owner. `None` if the input has neither pods nor revisions, so that nothing
    /// is known about pods.
    pods: Option<BTreeMap<Owner, Vec<Pod>>>,
    /// The claims by namespace. `None` if the input has neither claims nor revisions.
    claims: Option<BTreeSet<Name>>,
    /// The pods that are being deleted, with their uids, by namespace and name.
    ending: BTreeMap<Name, Box<str>>,
    /// The claims that a pod owns, by the namespace and the name of the pod, with its uid. They are
    /// deleted with the pod.
    owned: BTreeMap<Name, Vec<(Box<str>, String)>>,
    revisions: BTreeMap<Owner, Vec<(String, PodTemplateSpec)>>,
    /// The nodes; `None` if none were given.
    pub(super) nodes: Option<Vec<Place>>,
    /// The time at which the cluster is examined.
    pub(super) now: Timestamp,
}

impl World {
    /// Adds an object. Returns an error if the kind is needed and the object cannot be read.
    pub(super) fn add(
        &mut self,
        api_version: &str,
        kind: &str,
        json: &str,
    ) -> Result<(), serde_json::Error> {
        match (api_version, kind) {
            ("v1", "Pod") => {
                let (owner, pod) = Pod::read(json)?;
                let pods = self.pods.get_or_insert_default();
                if pod.deleted.is_some() {
                    let Metadata { namespace, name, uid, .. } = Metadata::read(json)?;
                    self.ending.insert((namespace, name), uid);
                }
                // A pod that is being deleted is gone soon.
                if let Some(owner) = owner.filter(|_| pod.deleted.is_none()) {
                    pods.entry(owner).or_default().push(pod);
                }
            }
            ("v1", "PersistentVolumeClaim") => {
                let (name, claim) = Claim::read(json)?;
                let claims = self.claims.get_or_insert_default();
                if claim.deleted.is_none() {
                    let Metadata { namespace, owner_references, .. } = Metadata::read(json)?;
                    for owner in owner_references.into_iter().filter(|it| &*it.kind == "Pod") {
                        let pod = (namespace.clone(), owner.name);
                        self.owned.entry(pod).or_default().push((owner.uid, name.1.to_string()));
                    }
                }
                // A claim that is being deleted is gone soon.
                if claim.deleted.is_none() {
                    claims.insert(name);
                }
            }
            ("v1", "Node") => self.nodes.get_or_insert_default().push(Node::read(json)?.place),
            ("apps/v1", "ControllerRevision") => self.add_revision(json)?,
            _ => {}
        }
        Ok(())
    }

    /// Remembers that all pods and claims are given, so that others don't exist.
    pub(super) fn know_all(&mut self) {
        self.pods.get_or_insert_default();
        self.claims.get_or_insert_default();
    }

    fn add_revision(&mut self, json: &str) -> Result<(), serde_json::Error> {
        #[derive(Deserialize)]
        struct Raw<'a> {
            #[serde(borrow)]
            data: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct Data {
            spec: Spec,
        }
        #[derive(Deserialize)]
        struct Spec {
            template: PodTemplateSpec,
        }
        let (owner, revision) = Revision::read(json)?;
        let Raw { data } = serde_json::from_str(json)?;
        // Input with revisions has the pods and claims too.
        self.know_all();
        let Some((owner, data)) = owner.zip(data) else { return Ok(()) };
        let data = serde_json::from_str::<Data>(data.get());
        let Ok(Data { spec: Spec { mut template } }) = data else { return Ok(()) };
        defaults::template(&mut template);
        let name = revision.on_pods().to_owned();
        self.revisions.entry(owner).or_default().push((name, template));
        Ok(())
    }

    /// Returns the pods of a set; `None` if nothing is known about pods.
    pub(super) fn pods(&self, namespace: &str, kind: WorkloadKind, name: &str) -> Option<&[Pod]> {
        let pods = self.pods.as_ref()?;
        let owner = Owner { namespace: namespace.into(), kind, name: name.into() };
        Some(pods.get(&owner).map(Vec::as_slice).unwrap_or_default())
    }

    /// Returns the revision of a set that has this template, as the label of its pods names it.
    pub(super) fn revision(
        &self,
        namespace: &str,
        kind: WorkloadKind,
        name: &str,
        template: &PodTemplateSpec,
    ) -> Option<&str> {
        let owner = Owner { namespace: namespace.into(), kind, name: name.into() };
        let mut revisions = self.revisions.get(&owner)?.iter();
        let found = revisions.find(|(_, own)| semantic::equal_templates(own, template));
        found.map(|(name, _)| name.as_str())
    }

    /// Returns the claims that go with pods of a set that are being deleted already, by ordinal:
    /// those pods own them, as `whenScaled: Delete` makes them when it condemns a pod. The garbage
    /// collector deletes them whatever the set is changed to meanwhile.
    ///
    /// Kubernetes: `updateClaimOwnerRefForSetAndPod`,
    /// pkg/controller/statefulset/stateful_set_utils.go.
    pub(super) fn claims_that_go(&self, namespace: &str, set: &str) -> BTreeMap<i64, Vec<String>> {
        let mut all = BTreeMap::new();
        for (pod, uid) in self.ending.iter().filter(|((own, _), _)| &**own == namespace) {
            let ordinal = pod.1.strip_prefix(set).and_then(|rest| rest.strip_prefix('-'));
            let Some(ordinal) = ordinal.and_then(|it| it.parse().ok()) else { continue };
            let owned = self.owned.get(pod).into_iter().flatten();
            let own = owned.filter(|(owner, _)| owner == uid).map(|(_, claim)| claim.clone());
            let own: Vec<_> = own.collect();
            if !own.is_empty() {
                all.insert(ordinal, own);
            }
        }
        all
    }

    /// Returns whether a claim exists; `None` if nothing is known about claims.
    pub(super) fn has_claim(&self, namespace: &str, name: &str) -> Option<bool> {
        let claims = self.claims.as_ref()?;
        Some(claims.contains(&(namespace.into(), name.into())))
    }
}

/// The metadata by which objects belong together.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    namespace: Box<str>,
    name: Box<str>,
    uid: Box<str>,
    owner_references: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    kind: Box<str>,
    name: Box<str>,
    uid: Box<str>,
}

impl Metadata {
    fn read(json: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Whole {
            metadata: Metadata,
        }
        let mut metadata = serde_json::from_str::<Whole>(json)?.metadata;
        metadata.namespace = namespace_or_default(Some(&metadata.namespace)).into();
        Ok(metadata)
    }
}

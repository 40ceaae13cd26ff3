//! The pods, claims, revisions and nodes that a cluster has.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    kubernetes::{resource::WorkloadKind, semantic},
    object::defaults,
    observed::{Claim, Node, Owner, Pod, Revision},
    rollout::node::Node as Place,
};

/// The objects of a cluster other than the sets.
#[derive(Debug, Default)]
pub(super) struct World {
    /// `None` if the input has neither pods nor revisions: nothing is known about pods then.
    pods: Option<BTreeMap<Owner, Vec<Pod>>>,
    /// By namespace. `None` if the input has neither claims nor revisions.
    claims: Option<BTreeSet<(Box<str>, Box<str>)>>,
    revisions: BTreeMap<Owner, Vec<(String, PodTemplateSpec)>>,
    /// `None` if no nodes were given.
    pub(super) nodes: Option<Vec<Place>>,
    /// The time at which it is looked at.
    pub(super) now: Timestamp,
}

impl World {
    /// Adds an object. Returns why it cannot be read, if it should be of a kind that is needed.
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
                // One that is being deleted is gone soon.
                if let Some(owner) = owner.filter(|_| pod.deleted.is_none()) {
                    pods.entry(owner).or_default().push(pod);
                }
            }
            ("v1", "PersistentVolumeClaim") => {
                let (name, claim) = Claim::read(json)?;
                let claims = self.claims.get_or_insert_default();
                // The same.
                if !claim.is_being_deleted {
                    claims.insert(name);
                }
            }
            ("v1", "Node") => self.nodes.get_or_insert_default().push(Node::read(json)?.place),
            ("apps/v1", "ControllerRevision") => self.add_revision(json)?,
            _ => {}
        }
        Ok(())
    }

    /// Remembers that pods and claims that are not given do not exist.
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
        // Whoever reads revisions reads the pods and claims too.
        self.know_all();
        let Some((owner, data)) = owner.zip(data) else { return Ok(()) };
        let data = serde_json::from_str::<Data>(data.get());
        let Ok(Data { spec: Spec { mut template } }) = data else { return Ok(()) };
        defaults::template(&mut template);
        let name = revision.on_pods().to_owned();
        self.revisions.entry(owner).or_default().push((name, template));
        Ok(())
    }

    /// The pods of a set; `None` if nothing is known about pods.
    pub(super) fn pods(&self, namespace: &str, kind: WorkloadKind, name: &str) -> Option<&[Pod]> {
        let pods = self.pods.as_ref()?;
        let owner = Owner { namespace: namespace.into(), kind, name: name.into() };
        Some(pods.get(&owner).map(Vec::as_slice).unwrap_or_default())
    }

    /// The revision of a set that has this template, by the label of its pods.
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

    /// Whether a claim exists; `None` if nothing is known about claims.
    pub(super) fn has_claim(&self, namespace: &str, name: &str) -> Option<bool> {
        let claims = self.claims.as_ref()?;
        Some(claims.contains(&(namespace.into(), name.into())))
    }
}
